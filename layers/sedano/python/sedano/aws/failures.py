"""The index of failures of the ledger table: its keys, its entries as attributes, and its query.

The index has the partition key `tri` (a string) and the sort key `tat` (a number), and holds the attributes `ENTRY`. Only records of
failed tasks, and of tasks that are tried again after many failures, have the keys (X1 of `sedano.aws.expressions.tasks`), so its size
depends only on the number of failures, and a query returns as many of them as it asks for. A task that succeeds in the end loses its keys.
The index is up to date within a second.
"""

from __future__ import annotations

from collections.abc import Mapping

from sedano.aws.client.table import Table
from sedano.aws.expressions import Write, tasks
from sedano.aws.ledger_items import Item, Values, whole_ms
from sedano.model.ledger.failures import SHARDS, FailedTask, day_of, failed_task, is_recovered, shard_of
from sedano.model.ledger.records import Outcome
from sedano.model.states import read_state

FAILURES = "failures"
"""The name of the index."""
ENTRY = ("tid", "st", "nm", "try", "ek", "wh")
"""The attributes of the index in addition to its keys and the table's."""
WRITES = ((tasks.RECORD, tasks.RECORD_FAILURE, tasks.RECORD_RECOVERED), (tasks.KEEP, tasks.KEEP_FAILURE, tasks.KEEP_RECOVERED))
"""The writes that end a task, each with the variants that also write an entry, and remove one."""


def indexed(write: Write, outcome: Outcome) -> tuple[Write, Values]:
    """Return *write*, or its variant that also writes the index entry of *outcome* or removes one; and the values of the entry."""
    _, failed, recovered = next(some for some in WRITES if some[0] is write)
    entry = failed_task(outcome)
    if entry is None:
        return recovered if is_recovered(outcome) else write, {}
    values: Values = {
        ":tri": _partition(day_of(entry.at), shard_of(entry.task_id)), ":tat": {"N": whole_ms(entry.at)}, ":tid": {"S": entry.task_id},
        ":ek": {"S": entry.error}, ":wh": {"S": entry.where},
    }  # fmt: skip
    return failed, values


def shards(day: str) -> list[Mapping[str, str]]:
    """Return the keys of the partitions of *day* (YYYY-MM-DD, UTC)."""
    return [_partition(day, shard) for shard in range(SHARDS)]


def read(table: Table, key: Mapping[str, str], most: int) -> list[FailedTask] | None:
    """Return at most *most* failed tasks of the partition *key*, the latest first; None: the table has no such index."""
    found = table.newest(FAILURES, {**tasks.FAILURES, "ExpressionAttributeValues": {":tri": key}}, most)
    return None if found is None else [_failed_task(item) for item in found]


def _partition(day: str, shard: int) -> Mapping[str, str]:
    return {"S": f"{day}#{shard}"}


def _failed_task(item: Item) -> FailedTask:
    return FailedTask(
        task_id=item["tid"]["S"], state=read_state(item["st"]["S"]), name=item["nm"]["S"], attempt=int(item["try"]["N"]),
        at=int(item["tat"]["N"]) / 1000, error=item["ek"]["S"], where=item["wh"]["S"],
    )  # fmt: skip
