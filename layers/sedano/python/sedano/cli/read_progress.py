"""Says on stderr how far a command has read the history, if it takes long: one S3 GET for each object may take minutes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

EVERY_S = 5.0
"""A line is printed when so many seconds have passed since the last one."""


def reported(objects: Iterable[bytes], verb: str, monotonic: Callable[[], float], say: Callable[[str], None]) -> Iterator[bytes]:
    """Yield *objects*, and *say* now and then how many the command *verb* has read; *monotonic* returns the time in seconds."""
    began = last = monotonic()
    for number, one in enumerate(objects, 1):
        if (now := monotonic()) - last >= EVERY_S:
            last = now
            say(f"sedano {verb}: {number:,} objects of the history were read in {now - began:.0f} s; it goes on")
        yield one
