"""The control record in DynamoDB: `sedano.ports.ControlStore` by the writes of `sedano.aws.expressions.control`."""

from __future__ import annotations

from typing import Any

from sedano.aws.client import keys
from sedano.aws.client.table import Item, Table
from sedano.aws.expressions.control import CHANGE, CHANGE_ABSENT
from sedano.model.cluster.control_record import Changed, ControlRecord

_NOTHING = ControlRecord()
_NOTHING_SAID = {"S": ""}
"""The value of the attributes that a record of an earlier version lacks: `asked` and `config`."""


class DynamoControl:
    """The control record of one deployment.

    Args:
        client: a botocore DynamoDB client.
        table: the control table's name; its partition key is `pk` (a string).
    """

    def __init__(self, client: Any, table: str) -> None:
        """Use *table*; no call is made yet."""
        self._table = Table(client, table)

    def read(self) -> ControlRecord:
        """Return the record, strongly consistent; an empty one when nothing was ever changed."""
        item = self._table.read_one(keys.CONTROL)
        return _record(item) if item is not None else _NOTHING

    def change(self, record: ControlRecord, seen: ControlRecord) -> Changed:
        """Write *record* if the control record is still *seen*."""
        values: dict[str, Any] = {
            ":nc": {"S": record.nonce},
            ":clk": {"N": str(record.clock)},
            ":revoked": {"M": {found: {"N": str(since)} for found, since in sorted(record.revoked.items())}},
            ":lims": {"M": {task: {"S": text} for task, text in sorted(record.limits.items())}},
            ":asked": {"S": record.asked},
            ":config": {"S": record.config},
            ":wished": {"M": {queue: {"N": str(number)} for queue, number in sorted(record.wished.items())}},
            ":paused": {"L": [{"S": queue} for queue in sorted(record.paused)]},
        }
        if seen.nonce:
            values[":seen"] = {"S": seen.nonce}
        done, item = self._table.update(CHANGE if seen.nonce else CHANGE_ABSENT, keys.CONTROL, values)
        if done:
            return Changed(True, record)
        found = _record(item) if item is not None else _NOTHING
        return Changed(found.nonce == record.nonce, found)


def _record(item: Item) -> ControlRecord:
    revoked = {found: int(since["N"]) for found, since in item["revoked"]["M"].items()}
    limits = {task: text["S"] for task, text in item["lims"]["M"].items()} if "lims" in item else {}
    wished = {queue: int(number["N"]) for queue, number in item["wished"]["M"].items()} if "wished" in item else {}
    paused = frozenset(queue["S"] for queue in item["paused"]["L"])
    return ControlRecord(
        clock=int(item["clk"]["N"]), nonce=item["nc"]["S"], revoked=revoked, paused=paused, limits=limits,
        asked=item.get("asked", _NOTHING_SAID)["S"], config=item.get("config", _NOTHING_SAID)["S"], wished=wished,
    )  # fmt: skip
