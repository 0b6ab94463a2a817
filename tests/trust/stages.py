"""Stages of this room's own applications."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sedano.local import LocalStage, local_stage


@contextmanager
def deployed_stage(**asked: Any) -> Iterator[LocalStage]:
    """A stage, as `local_stage` is asked for it, whose client is this process while the block runs."""
    before = dict(os.environ)
    with local_stage(**asked) as stage:
        os.environ.update(stage.environment)
        try:
            yield stage
        finally:
            os.environ.clear()
            os.environ.update(before)
