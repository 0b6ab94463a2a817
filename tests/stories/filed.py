"""What a stage over one SQLite file lets a story look at, beside its ports: its queues, its dead letters, its blobs."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sedano.model.messages.message import BlobRef
from sedano.ports import Outgoing
from sedano.sqlite.store import Store

_COLUMNS = "body, tenant, attributes, serial_key"


@dataclass
class OnFile:
    """One SQLite file on the stage's virtual clock, so time passes by itself."""

    store: Store
    name: str = "sqlite"

    def pass_time(self, seconds: float) -> None:
        """Nothing to do."""

    def hidden_for(self, queue: str, now: float) -> list[float]:
        """The seconds until each message is visible; of a key until none of it is hidden."""
        key = "coalesce(serial_key, seq)"
        rows = self.store.rows(f"SELECT max(visible) FROM message WHERE queue = ? GROUP BY {key}", queue)  # noqa: S608 - our own words
        return [max(0.0, visible - now) for (visible,) in rows]

    def peek(self, queue: str) -> list[Outgoing]:
        """What lies in *queue*."""
        return [_outgoing(row) for row in self.store.rows(f"SELECT {_COLUMNS} FROM message WHERE queue = ? ORDER BY seq", queue)]  # noqa: S608

    def dead(self, queue: str) -> list[Outgoing]:
        """Its dead letters."""
        return [_outgoing(row) for row in self.store.rows(f"SELECT {_COLUMNS} FROM dead_letter WHERE queue = ? ORDER BY seq", queue)]  # noqa: S608

    def damage(self, ref: BlobRef, data: bytes | None) -> None:
        """Replace or lose a blob."""
        with self.store.changing() as database:
            if data is None:
                database.execute("DELETE FROM blob WHERE digest = ?", (ref.digest,))
            else:
                database.execute("UPDATE blob SET data = ? WHERE digest = ?", (data, ref.digest))


def _outgoing(row: Sequence[Any]) -> Outgoing:
    body, tenant, attributes, serial_key = row
    return Outgoing(body, 0, tenant, json.loads(attributes) if attributes else {}, serial_key)
