"""The control record in the one row of the table `control`, by compare-and-swap (`sedano.sqlite.compare_and_swap`)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sedano.model.cluster.control_record import Changed, ControlRecord
from sedano.sqlite.compare_and_swap import Swap, swapped
from sedano.sqlite.store import Store

CONTROL = Swap(
    create="INSERT INTO control (body, nonce, id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
    change="UPDATE control SET body = ?, nonce = ? WHERE id = ? AND nonce = ?",
    read="SELECT body, nonce FROM control WHERE id = ?",
)
_ID = 1


class SqliteControl:
    """The control record of one deployment over one SQLite file."""

    def __init__(self, store: Store) -> None:
        """Use *store*; nothing is opened yet."""
        self._store = store

    def read(self) -> ControlRecord:
        """Return the record; an empty one when nothing was ever changed."""
        return next(map(_record, self._store.rows(CONTROL.read, _ID)), ControlRecord())

    def change(self, record: ControlRecord, seen: ControlRecord) -> Changed:
        """Write *record* if the control record is still *seen*."""
        row = swapped(self._store, CONTROL, _ID, (_text(record), record.nonce), seen.nonce or None)
        if row is None:
            return Changed(True, record)
        found = _record(row) if row else ControlRecord()
        return Changed(found.nonce == record.nonce, found)


def _text(record: ControlRecord) -> str:
    parts = {
        "clock": record.clock, "revoked": dict(record.revoked), "paused": sorted(record.paused), "limits": dict(record.limits),
        "asked": record.asked, "config": record.config, "wished": dict(record.wished),
    }  # fmt: skip
    return json.dumps(parts, separators=(",", ":"))


def _record(row: Sequence[Any]) -> ControlRecord:
    parts = json.loads(row[0])
    return ControlRecord(
        clock=parts["clock"], nonce=row[1], revoked=parts["revoked"], paused=frozenset(parts["paused"]), limits=parts["limits"],
        asked=parts.get("asked", ""), config=parts.get("config", ""), wished=parts.get("wished", {}),
    )  # fmt: skip
