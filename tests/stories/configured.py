"""A module that is a layer of a configuration: names of other kinds stand in it too."""

import os
from pathlib import Path

SENDER = "module"
HERE = Path(os.curdir)
_PRIVATE = 1


def sender() -> str:
    """Return nothing that a field has."""
    return ""
