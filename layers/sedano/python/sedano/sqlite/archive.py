"""An archive in the table `archive`: objects by name, whose mark is a digest of their bytes. Spark cannot open them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256

from sedano.ports import Clock
from sedano.ports.archive import Filed, Kept
from sedano.sqlite.store import Store

PAGE = 500
"""How many names one SELECT reads."""
CREATE = "INSERT INTO archive VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
SWAP = "UPDATE archive SET mark = ?, modified = ?, data = ? WHERE name = ? AND mark = ?"
_NAMES = "SELECT name, length(data), mark, modified FROM archive WHERE name >= ? AND name > ? ORDER BY name LIMIT ?"
_READ = "SELECT data, mark FROM archive WHERE name = ?"
_REMOVE = "DELETE FROM archive WHERE name = ?"


class SqliteArchive:
    """The objects of one history over one SQLite file; *clock* says when they were written."""

    def __init__(self, store: Store, clock: Clock) -> None:
        """Use *store*; nothing is opened yet."""
        self._store, self._clock = store, clock

    def place(self, name: str) -> str:
        """Return the name itself; no other program can open the object."""
        return name

    def names(self, prefix: str) -> Iterator[Filed]:
        """Yield the objects whose names begin with *prefix*, in the order of names."""
        after = ""
        while rows := self._store.rows(_NAMES, prefix, after, PAGE):
            for name, size, mark, modified in rows:
                if not name.startswith(prefix):
                    return
                yield Filed(name, size, mark, modified)
            after = rows[-1][0]

    def read(self, name: str) -> Kept | None:
        """Return the object; None if it does not exist."""
        return next((Kept(data, mark) for data, mark in self._store.rows(_READ, name)), None)

    def put_once(self, name: str, data: bytes) -> None:
        """Keep *data* unless the name exists."""
        self.swap(name, data, None)

    def swap(self, name: str, data: bytes, seen: str | None) -> bool:
        """Keep *data* where the object still has the mark that was *seen*."""
        mark, now, kept = sha256(data).hexdigest(), self._clock.now(), bytes(data)
        with self._store.changing() as database:
            if seen is None:
                return bool(database.execute(CREATE, (name, mark, now, kept)).rowcount)
            return bool(database.execute(SWAP, (mark, now, kept, name, seen)).rowcount)

    def remove(self, names: Iterable[str]) -> None:
        """Delete the objects; a missing object is not an error."""
        with self._store.changing() as database:
            database.executemany(_REMOVE, [(name,) for name in names])
