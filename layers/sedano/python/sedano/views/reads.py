"""The reads of a view and their price. A view gets ports that can only read, and each read is counted as AWS charges it.

The price does not depend on the store: over SQLite and in memory a view counts the cost of the same reads on AWS. The size of an item is
that of the answer as JSON text, so the units may differ from those of AWS by the rounding of an item's encoding. A strongly consistent
read costs one unit for each started 4 KB, even if the item does not exist; a query of an index costs half of that for all its items.

A call that is not in the table `READS` raises `TypeError`: no view can write, by mistake or otherwise.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from math import ceil
from typing import Any, NamedTuple

from sedano.model.ledger.failures import SHARDS
from sedano.model.schedules.agenda import Agenda
from sedano.ports import Ports
from sedano.ports.absent import Absent

UNIT_BYTES = 4_096
PAGE_BYTES, DAY_MINUTES = 1_048_576, 1_440
MOST_KEYS, MOST_LISTED, MOST_METRICS = 100, 1_000, 500
"""The most keys of a BatchGetItem, objects of a page of a listing, and metrics of a GetMetricData."""
EMPTY_POLLS = 3
"""The number of empty answers that end a read of dead letters."""
READ_UNIT, METRIC = "dynamodb.unit", "cloudwatch.metric"
"""Charged by the number in a call, not by the call: the units of DynamoDB, and the metrics of CloudWatch."""
DOLLARS_A_MILLION: Mapping[str, float] = {
    READ_UNIT: 0.125, "s3.GetObject": 0.40, "s3.ListObjectsV2": 5.00, "sqs.ReceiveMessage": 0.40, "sqs.GetQueueAttributes": 0.40,
    "sqs.GetQueueUrl": 0.40, "sqs.ChangeMessageVisibility": 0.40, METRIC: 10.00,
}  # fmt: skip
"""List prices (us-east-1, on demand). DynamoDB charges units and CloudWatch metrics, not calls. Calls of the
control planes of Lambda and Scheduler are free."""
FREE = frozenset({"clock", "entropy", "telemetry"})
"""The ports whose calls are free."""


class Reads(NamedTuple):
    """The reads of one view: the number of *calls* by operation, the read *units* of DynamoDB, and the price of a million such views."""

    calls: Mapping[str, int]
    units: float
    dollars_a_million: float


Count = Callable[[Sequence[Any], Any], Mapping[str, float]]
"""Returns the charge for a read with these arguments and this answer: calls by operation, and units."""


class Tally:
    """Adds up the reads of one view."""

    def __init__(self) -> None:
        """Begin with no reads."""
        self._charged: Counter[str] = Counter()
        self._units = 0.0

    def add(self, charged: Mapping[str, float]) -> None:
        """Add what one read is charged."""
        self._units += charged.get(READ_UNIT, 0.0)
        self._charged.update({name: int(number) for name, number in charged.items() if name != READ_UNIT and number})

    def reads(self) -> Reads:
        """Return everything that was read so far."""
        calls = {name: number for name, number in sorted(self._charged.items()) if name != METRIC}
        price = self._units * DOLLARS_A_MILLION[READ_UNIT] + sum(DOLLARS_A_MILLION.get(name, 0.0) * n for name, n in self._charged.items())
        return Reads(calls, self._units, round(price, 4))


def counted(ports: Ports, tally: Tally) -> Ports:
    """Return *ports* that only read, and that add each read to *tally*."""
    wrapped = {one.name: _wrapped(one.name, getattr(ports, one.name), tally) for one in fields(Ports) if one.name not in FREE}
    return replace(ports, **wrapped)


def _wrapped(name: str, port: Any, tally: Tally) -> Any:
    is_port = not isinstance(port, Absent | int) and name != "store_time"
    return _Reading(name, port, tally) if is_port else port


class _Reading:
    """One port: its reads are counted, and everything else is refused."""

    def __init__(self, name: str, port: Any, tally: Tally) -> None:
        """Read from *port*, the field *name* of `sedano.ports.Ports`."""
        self._name, self._port, self._tally = name, port, tally

    def __getattr__(self, operation: str) -> Any:
        """Return the read *operation*, counted, or a value that needs no call.

        Raises:
            TypeError: *operation* is not a read.
        """
        found = getattr(self._port, operation)
        count = READS.get((self._name, operation))
        if count is not None:
            return partial(_call, self._tally, count, found)
        if callable(found):
            raise TypeError(f"{self._name}.{operation}: a view only reads; make this call on the ports of the app")
        return found


def _call(tally: Tally, count: Count, operation: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    answer = operation(*arguments, **named)
    if isinstance(answer, Iterator):
        return _each(tally, answer)
    tally.add(count((*arguments, *named.values()), answer))
    return answer


def _each(tally: Tally, objects: Iterator[Any]) -> Iterator[Any]:
    """Yield the objects of a listing; each is counted when it is read, and each page of names when it is begun."""
    tally.add({"s3.ListObjectsV2": 1})
    for number, one in enumerate(objects):
        tally.add({"s3.GetObject": 1, "s3.ListObjectsV2": int(number > 0 and number % MOST_LISTED == 0)})
        yield one


def units(value: object) -> int:
    """Return the read units of one item: one for each started 4 KB, and one for an item that does not exist (None)."""
    return max(1, ceil(_size(value) / UNIT_BYTES))


def _size(value: object) -> int:
    return len(json.dumps(value, default=_plain).encode()) if value is not None else 0


def _plain(value: Any) -> Any:
    return sorted(value) if isinstance(value, frozenset | set) else dict(value) if isinstance(value, Mapping) else str(value)


def _one(_: Sequence[Any], answer: Any) -> Mapping[str, float]:
    return {"dynamodb.GetItem": 1, READ_UNIT: units(answer)}


def _keyed(arguments: Sequence[Any], answer: Mapping[str, Any]) -> Mapping[str, float]:
    names = list(dict.fromkeys(arguments[0]))
    calls = {"dynamodb.GetItem": 1} if len(names) == 1 else {"dynamodb.BatchGetItem": ceil(len(names) / MOST_KEYS)}
    return {**calls, READ_UNIT: sum(units(answer.get(name)) for name in names)}


def _boards(arguments: Sequence[Any], answer: Any) -> Mapping[str, float]:
    """Count a unit for each board, and those of the line of messages."""
    _, count = arguments
    return {"dynamodb.BatchGetItem": 1, READ_UNIT: count + units(answer.waiting)}


def _nodes(arguments: Sequence[Any], answer: Sequence[Any]) -> Mapping[str, float]:
    return {"dynamodb.BatchGetItem": ceil(len(arguments[1]) / MOST_KEYS), READ_UNIT: sum(map(units, answer))}


def _agendas(_: Sequence[Any], answer: Sequence[Any]) -> Mapping[str, float]:
    """Count a unit for the states of each agenda, and the definitions of those that exist, as if this process knew none."""
    sizes = [units(one) for one in answer if not isinstance(one, Agenda) or one.nonce]
    calls = {"dynamodb.BatchGetItem": 1 + bool(sizes)}
    return {**calls, READ_UNIT: len(answer) + sum(sizes)}


def _indexed(_: Sequence[Any], answer: Sequence[Any]) -> Mapping[str, float]:
    return {"dynamodb.Query": 1, READ_UNIT: max(1, ceil(sum(map(_size, answer)) / UNIT_BYTES)) / 2}


def _failures(arguments: Sequence[Any], answer: Sequence[Any] | None) -> Mapping[str, float]:
    """Count a query for each shard of a day; each query may read as many as all together may return."""
    found = answer or ()
    size = sum(map(_size, found)) * (SHARDS if len(found) == arguments[1] else 1)
    return {"dynamodb.Query": SHARDS, READ_UNIT: SHARDS * max(1, ceil(size / SHARDS / UNIT_BYTES)) / 2}


def _timers(_: Sequence[Any], answer: Sequence[Any]) -> Mapping[str, float]:
    return {"scheduler.ListSchedules": max(1, ceil(len(answer) / MOST_KEYS)), "scheduler.GetSchedule": len(answer)}


def _ages(arguments: Sequence[Any], _: Any) -> Mapping[str, float]:
    """Count a metric for each queue, as if this process had none of its latest values."""
    (queues,) = arguments
    return {"cloudwatch.GetMetricData": ceil(len(queues) / MOST_METRICS), METRIC: len(queues)}


def _dead(_: Sequence[Any], answer: Sequence[Any]) -> Mapping[str, float]:
    polls = EMPTY_POLLS + ceil(len(answer) / 10)
    looked = {"sqs.GetQueueAttributes": 1, "sqs.GetQueueUrl": 1, "sqs.ReceiveMessage": polls}
    return {**looked, "sqs.ChangeMessageVisibility": len(answer)}


def _each_call(operation: str) -> Count:
    return lambda arguments, answer: {operation: 1}


def _windowed(arguments: Sequence[Any], answer: Sequence[Any] | None) -> Mapping[str, float]:
    """Count a query for each day of a window of roll-ups, whose units are those of an index."""
    since, until = arguments
    sizes = dict.fromkeys(range(since // DAY_MINUTES, until // DAY_MINUTES + 1), 0)
    if answer is None:
        return {"dynamodb.Query": 1, READ_UNIT: 0.5}
    for one in answer:
        sizes[one.minute // DAY_MINUTES] += _size(one)
    pages = sum(max(1, ceil(size / PAGE_BYTES)) for size in sizes.values())
    return {"dynamodb.Query": pages, READ_UNIT: sum(max(1, ceil(size / UNIT_BYTES)) for size in sizes.values()) / 2}


READS: Mapping[tuple[str, str], Count] = {
    ("ledger", "read"): _keyed, ("ledger", "failures"): _failures, ("ledger", "read_join"): _one, ("ledger", "read_nodes"): _nodes,
    ("queues", "receive"): _each_call("sqs.ReceiveMessage"), ("queues", "hold"): _each_call("sqs.ChangeMessageVisibility"),
    ("blobs", "get"): _each_call("s3.GetObject"), ("events", "read"): _each_call("s3.ListObjectsV2"),
    ("members", "read"): _indexed, ("leases", "read"): _keyed, ("control", "read"): _one, ("elections", "read"): _one,
    ("flow_runs", "read"): _one, ("memos", "read"): _keyed, ("limits", "line"): _one, ("limits", "board"): _one,
    ("limits", "boards"): _boards, ("limits", "latest"): _one, ("rollups", "read"): _windowed,
    ("consumers", "load"): _each_call("sqs.GetQueueAttributes"), ("consumers", "limit"): _each_call("lambda.GetEventSourceMapping"),
    ("consumers", "ages"): _ages, ("consumers", "dead"): _dead, ("timers", "list"): _timers,
    ("schedules", "read"): _agendas,
}  # fmt: skip
"""Every read that a view may make, and how it is counted. `queues.receive` and `hold` look at parked messages and return them to the queue.

`flow_runs.list` is left out: it scans the control table.
"""
