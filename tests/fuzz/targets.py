"""All targets, in the order in which they are fuzzed."""

from __future__ import annotations

from tests.fuzz import configured, engines, given, outside, readers
from tests.fuzz.loop import Target


def every() -> list[Target]:
    """Return every target."""
    return [*readers.every(), *given.every(), *configured.every(), *outside.every(), *engines.every()]
