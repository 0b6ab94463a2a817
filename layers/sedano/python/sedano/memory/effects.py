"""Effects in memory: the tables are dicts, under the lock of the ledger."""

from __future__ import annotations

from collections.abc import Sequence

from sedano.errors import EffectRefused
from sedano.memory.ledger import MemoryLedger
from sedano.model.canonical_json import canonical_json
from sedano.model.effects import Row, TableWrite, applied, place, refusal
from sedano.model.ledger.records import Outcome, RecordAnswer


class MemoryEffects:
    """The user's own tables, which begin empty."""

    def __init__(self, ledger: MemoryLedger) -> None:
        """Record with *ledger*."""
        self._ledger = ledger
        self._rows: dict[tuple[str, str], Row] = {}

    def record(self, outcome: Outcome, effects: Sequence[TableWrite], *, claimed: bool) -> RecordAnswer | EffectRefused:
        """Record *outcome* and make all *effects* in one transaction."""
        return self._ledger.record_with(outcome, claimed, lambda: self._apply(effects))

    def read(self, table: str, key: Row) -> Row | None:
        """Return the item at *key*."""
        return self._rows.get((table, canonical_json(key)))

    def rows(self, table: str) -> list[Row]:
        """Return the items of *table* by their keys."""
        return [row for (name, _), row in sorted(self._rows.items(), key=lambda one: one[0]) if name == table]

    def _apply(self, effects: Sequence[TableWrite]) -> EffectRefused | None:
        for number, effect in enumerate(effects):
            why = refusal(effect, self._rows.get(place(effect)))
            if why:
                return EffectRefused(number, effect.table, canonical_json(effect.key), why)
        for effect in effects:
            row = applied(effect, self._rows.get(place(effect)))
            if row is None:
                self._rows.pop(place(effect), None)
            else:
                self._rows[place(effect)] = row
        return None
