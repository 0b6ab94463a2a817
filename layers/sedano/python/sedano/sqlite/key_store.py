"""The keys of a stage in the one row of the table `keys`. Only the file's owner can read it (`sedano.sqlite.store`)."""

from __future__ import annotations

from sedano.sqlite.store import Store

CREATE = "INSERT INTO keys VALUES (1, ?) ON CONFLICT DO NOTHING"
REPLACE = "INSERT INTO keys VALUES (1, ?) ON CONFLICT DO UPDATE SET body = excluded.body"
_READ = "SELECT body FROM keys"


class SqliteKeyStore:
    """The keys of one stage over one SQLite file."""

    def __init__(self, store: Store) -> None:
        """Use *store*; nothing is opened yet."""
        self._store = store

    def read(self) -> str | None:
        """Return the text; None before the first write."""
        return next((str(body) for (body,) in self._store.rows(_READ)), None)

    def create(self, text: str) -> bool:
        """Write *text* if no text was written before; return whether it was written."""
        with self._store.changing() as database:
            return bool(database.execute(CREATE, (text,)).rowcount)

    def replace(self, text: str) -> None:
        """Replace the existing text by *text*."""
        with self._store.changing() as database:
            database.execute(REPLACE, (text,))
