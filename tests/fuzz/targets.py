"""All targets, in the order in which they are fuzzed."""

from __future__ import annotations

from tests.fuzz import engines, given, readers
from tests.fuzz.loop import Target


def every() -> list[Target]:
    """Return every target."""
    return [*readers.every(), *given.every(), *engines.every()]
