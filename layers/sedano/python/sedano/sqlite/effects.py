"""Effects over one file: the items are rows of the table `effect`, written in the transaction of the record."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from sedano.errors import EffectRefused
from sedano.model.canonical_json import canonical_json
from sedano.model.effects import Row, TableWrite, applied, refusal
from sedano.model.ledger.records import Outcome, RecordAnswer, Recorded
from sedano.sqlite.ledger import keep_in, record_in
from sedano.sqlite.store import Store

WRITE = "INSERT INTO effect VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET body = excluded.body"
DELETE = "DELETE FROM effect WHERE name = ? AND key = ?"
_READ = "SELECT body FROM effect WHERE name = ? AND key = ?"


class SqliteEffects:
    """The user's own tables in one SQLite file."""

    def __init__(self, store: Store) -> None:
        """Use *store*; nothing is opened yet."""
        self._store = store

    def record(self, outcome: Outcome, effects: Sequence[TableWrite], *, claimed: bool) -> RecordAnswer | EffectRefused:
        """Record *outcome* and make all *effects* in one transaction."""
        with self._store.changing() as database:
            before = database.total_changes
            database.execute("SAVEPOINT effects")
            answer: RecordAnswer | EffectRefused = (record_in if claimed else keep_in)(database, outcome)
            written = isinstance(answer, Recorded) and answer.accepted and database.total_changes > before
            refused = _apply(database, effects) if written else None
            if refused is not None:
                database.execute("ROLLBACK TO effects")
                answer = refused
            database.execute("RELEASE effects")
            return answer

    def read(self, table: str, key: Row) -> Row | None:
        """Return the item at *key*."""
        return next((json.loads(body) for (body,) in self._store.rows(_READ, table, canonical_json(key))), None)


def _apply(database: sqlite3.Connection, effects: Sequence[TableWrite]) -> EffectRefused | None:
    for number, effect in enumerate(effects):
        place = (effect.table, canonical_json(effect.key))
        found = next((json.loads(body) for (body,) in database.execute(_READ, place).fetchall()), None)
        why = refusal(effect, found)
        if why:
            return EffectRefused(number, effect.table, place[1], why)
        row = applied(effect, found)
        if row is None:
            database.execute(DELETE, place)
        else:
            database.execute(WRITE, (*place, canonical_json(row)))
    return None
