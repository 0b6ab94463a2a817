"""An entry of the table of verbs (`sedano.cli.verb_table`): the line of help, and the function that imports the click command."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from click import Command


class Verb(NamedTuple):
    """One line of *help*, and what *load* returns: the click command."""

    help: str
    load: Callable[[], Command]


VERBS: dict[str, Verb] = {}
"""Every verb by its name, in the order of the table."""


def verb(load: Callable[[], Command]) -> Callable[[], Command]:
    """Add the function *load* to the table under its name."""
    VERBS[load.__name__.rstrip("_")] = Verb((load.__doc__ or "").rstrip("."), load)
    return load
