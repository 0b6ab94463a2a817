"""The port of effects: a success and a user's own writes, recorded together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sedano.errors import EffectRefused
from sedano.model.effects import Row, TableWrite
from sedano.model.ledger.records import Outcome, RecordAnswer


class Effects(Protocol):
    """The tables of the user's own that a deployment knows, by the name that the app declares.

    A table that it does not know raises `ConfigurationError`.
    """

    def record(self, outcome: Outcome, effects: Sequence[TableWrite], *, claimed: bool) -> RecordAnswer | EffectRefused:
        """Record *outcome* as `Ledger.record` (*claimed*) or `Ledger.keep` does, and make all *effects* in the same transaction.

        The record counts before the effects: where it is refused, or was written by this very run before, no effect is looked at. An effect
        whose condition does not hold answers `EffectRefused`, and nothing is written. An unanswered call may be repeated.
        """

    def read(self, table: str, key: Row) -> Row | None:
        """Return the item at *key*, strongly consistent."""
