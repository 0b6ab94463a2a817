"""The history of worker events, in memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256

from sedano.errors import OptionError

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


class MemoryEvents:
    """The history in a dict by name."""

    def __init__(self) -> None:
        """Start empty."""
        self._kept: dict[str, bytes] = {}

    def append(self, day: str, lines: bytes, own: bytes = b"") -> str:
        """Keep *lines* of *day* once, with the *own* lines of the first writer, and return the object's name."""
        name = f"events/dt={_checked(day)}/{sha256(lines).hexdigest()}.jsonl.gz"
        self._kept.setdefault(name, lines + own)
        return name

    def read(self, since: str = "") -> Iterator[bytes]:
        """Yield the contents of every object, in the order of their names; only those of the day *since* and later, if one is given."""
        first = f"events/dt={_checked(since)}" if since else ""
        for name in sorted(self._kept):
            if name >= first:
                yield self._kept[name]


def _checked(day: str) -> str:
    if not _DAY.fullmatch(day):
        raise OptionError(f"day: {day[:20]!r} is not YYYY-MM-DD")
    return day
