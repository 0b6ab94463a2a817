"""Roll-ups in the table `rollup`, by the name of their object."""

from __future__ import annotations

from sedano.model.history.rollups import LIFETIME_S, MINUTE_S, Rollup
from sedano.sqlite.store import Store

PUT = "INSERT INTO rollup VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
_READ = "SELECT name, minute, body FROM rollup WHERE minute BETWEEN ? AND ? ORDER BY minute, name"


class SqliteRollups:
    """The roll-ups of one deployment over one SQLite file."""

    def __init__(self, store: Store) -> None:
        """Use *store*; nothing is opened yet."""
        self._store = store

    def put(self, rollup: Rollup) -> None:
        """Write *rollup* unless its object has one."""
        with self._store.changing() as database:
            database.execute(PUT, (*rollup, rollup.minute * MINUTE_S + LIFETIME_S))

    def read(self, since: int, until: int) -> list[Rollup]:
        """Return the roll-ups of the minutes from *since* to *until*, by minute and name."""
        return [Rollup(*row) for row in self._store.rows(_READ, since, until)]
