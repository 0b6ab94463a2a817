"""The history of worker events in the table `event`: objects named by the digest of their lines, as in the history's bucket."""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256

from sedano.errors import OptionError
from sedano.sqlite.store import Store

PAGE = 100
"""How many objects one SELECT reads, so that a slow reader does not block other processes."""
APPEND = "INSERT INTO event VALUES (?, ?) ON CONFLICT DO NOTHING"
_READ = "SELECT name, lines FROM event WHERE name > ? ORDER BY name LIMIT ?"
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


class SqliteEvents:
    """The history of one deployment over one SQLite file."""

    def __init__(self, store: Store) -> None:
        """Use *store*; nothing is opened yet."""
        self._store = store

    def append(self, day: str, lines: bytes, own: bytes = b"") -> str:
        """Keep *lines* of *day* once, with the *own* lines of the first writer, and return the object's name."""
        name = f"events/dt={_checked(day)}/{sha256(lines).hexdigest()}.jsonl.gz"
        with self._store.changing() as database:
            database.execute(APPEND, (name, lines + own))
        return name

    def read(self, since: str = "") -> Iterator[bytes]:
        """Yield the contents of every object, in the order of their names; only those of the day *since* and later, if one is given."""
        after = f"events/dt={_checked(since)}" if since else ""
        while rows := self._store.rows(_READ, after, PAGE):
            yield from (lines for _, lines in rows)
            after = rows[-1][0]


def _checked(day: str) -> str:
    if not _DAY.fullmatch(day):
        raise OptionError(f"day: {day[:20]!r} is not YYYY-MM-DD")
    return day
