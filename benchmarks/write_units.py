"""Write units of DynamoDB where many tasks share an item: permits of a concurrency limit, and periodic tasks.

A write costs a unit for each started KB of the item, before or after it, whichever is larger. The real adapters write over moto, and the
size of each item is computed by the rules of DynamoDB's developer guide ("DynamoDB item sizes and formats").
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from dataclasses import replace
from math import ceil
from typing import Any

from moto import mock_aws

from benchmarks.calls import REGION
from benchmarks.report import Entry, Section, Target
from sedano import memory
from sedano.aws.client.session import Session
from sedano.aws.limits import DynamoLimits
from sedano.aws.schedules import DynamoSchedules
from sedano.engine.schedules.scheduler import Scheduler
from sedano.memory import VirtualClock
from sedano.model.limits.concurrency import BoardChanged, Permit
from sedano.model.messages.lamport import LamportClock
from sedano.model.schedules.agenda import Agenda, Periodic, ScheduledCall, declaration
from sedano.model.schedules.schedule import Schedule
from sedano.model.schedules.timetable import Every

Declared = Mapping[str, Periodic]
UNIT_BYTES, READ_BYTES = 1_024, 4_096
NOW_S = 1_800_000_123
TABLE = "control"
SAMPLE = 10
"""How many permits of a limit are given back and taken again."""
PERMITS, PERMITS_TARGET = 300, 4.0
WAITING = 10
RECEIPT = "AQEB" + "x" * 340
"""As long as a receipt of SQS."""
SCHEDULES, SCHEDULES_TARGET = 1_600, 3.0
NAME, WORKER = "shop.prices.update/", "ip-10-0-163-227.ec2.internal.8.0f3c2a1b"


def size(value: Mapping[str, Any]) -> int:
    """Return the bytes of an attribute's value."""
    ((kind, held),) = value.items()
    if kind == "S":
        return len(held.encode())
    if kind == "N":  # two digits a byte; zeros at either end do not count
        return ceil(len(held.lstrip("-").strip("0") or "0") / 2) + 1
    if kind == "SS":
        return sum(len(one.encode()) for one in held)
    if kind == "L":
        return 3 + sum(1 + size(one) for one in held)
    if kind == "M":
        return 3 + sum(1 + len(name.encode()) + size(one) for name, one in held.items())
    if kind in ("BOOL", "NULL"):
        return 1
    raise ValueError(f"{kind}: no attribute of the control table has this type")


def item_size(item: Mapping[str, Mapping[str, Any]]) -> int:
    """Return the bytes of an item: of its attributes' names and values."""
    return sum(len(name.encode()) + size(value) for name, value in item.items())


class Meter:
    """A DynamoDB client that counts the write units of what passes through it, and the units of strongly consistent reads by key."""

    def __init__(self, client: Any) -> None:
        """Count the writes and the reads through *client*."""
        self.client = client
        self.units = 0
        self.read_units = 0

    def update_item(self, **asked: Any) -> Any:
        """Pass on an update, and count its units."""
        before = self._size(asked)
        answer = self.client.update_item(**asked)
        self.units += max(1, ceil(max(before, self._size(asked)) / UNIT_BYTES))
        return answer

    def transact_write_items(self, **asked: Any) -> Any:
        """Pass on a transaction of updates, and count two units where one of its writes alone would cost one."""
        updates = [one["Update"] for one in asked["TransactItems"]]
        before = [self._size(one) for one in updates]
        answer = self.client.transact_write_items(**asked)
        self.units += sum(2 * max(1, ceil(max(old, self._size(one)) / UNIT_BYTES)) for old, one in zip(before, updates, strict=True))
        return answer

    def get_item(self, **asked: Any) -> Any:
        """Pass on a read of one key, and count its units."""
        answer = self.client.get_item(**asked)
        self.read_units += max(1, ceil(item_size(answer.get("Item", {})) / READ_BYTES))
        return answer

    def batch_get_item(self, **asked: Any) -> Any:
        """Pass on a read of several keys, and count a unit for each started 4 KB of an item, and one for a missing item."""
        answer = self.client.batch_get_item(**asked)
        found = [item for items in answer["Responses"].values() for item in items]
        wanted = sum(len(one["Keys"]) for one in asked["RequestItems"].values())
        self.read_units += sum(ceil(item_size(item) / READ_BYTES) for item in found) + wanted - len(found)
        return answer

    def __getattr__(self, name: str) -> Any:
        """Pass on everything else, which writes nothing."""
        if name in ("put_item", "delete_item", "batch_write_item"):
            raise NotImplementedError(f"{name}: count its units first")
        return getattr(self.client, name)

    def _size(self, asked: Mapping[str, Any]) -> int:
        item = self.client.get_item(TableName=asked["TableName"], Key=asked["Key"], ConsistentRead=True).get("Item")
        return item_size(item) if item is not None else 0


def _meter() -> Meter:
    """Return the meter of an empty control table; moto must be active."""
    client = Session().client("dynamodb")
    client.create_table(
        TableName=TABLE, BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
    )  # fmt: skip
    return Meter(client)


def units_of_permits(limit: int, waiting: int = 0) -> float:
    """Return the write units of a run under a *limit* whose permits are all held: give a permit back and take it again, on average.

    *waiting*: so many messages wait at the first board.
    """
    os.environ.update(REGION)
    with mock_aws():
        meter, now = _meter(), NOW_S * 1_000 + 457
        limits, uncounted = DynamoLimits(meter, TABLE), DynamoLimits(meter.client, TABLE)
        for number in range(limit):
            _sure(uncounted.take(NAME, _permit(number, now), "", now))
        for number in range(waiting):
            _sure(uncounted.wait(NAME, _permit(0, now), _message(number), now))
        some = range(0, limit, max(1, limit // SAMPLE))
        for number in some:
            _sure(limits.give_back(NAME, _permit(number, now)))
            _sure(limits.take(NAME, _permit(number, now + 1), "", now))
        return meter.units / len(some)


def units_of_a_full_line() -> float:
    """Return the write units of the last message that fits into a line, and is taken out again."""
    os.environ.update(REGION)
    with mock_aws():
        meter, now = _meter(), NOW_S * 1_000 + 457
        limits = DynamoLimits(meter, TABLE)
        for number in range(WAITING):
            meter.units = 0
            if not limits.line_up(NAME, f"{now:013d}\n{_message(number)}", now):
                raise RuntimeError(f"{NAME}: the line has no room for message {number}")
        limits.leave_line(NAME, f"{now:013d}\n{_message(WAITING - 1)}")
        return meter.units


def _message(number: int) -> str:
    return "\n".join(("commands:default", RECEIPT, str(uuid.UUID(int=number)), "1800000123.25"))


def _sure(answer: BoardChanged) -> None:
    if not answer.done:
        raise RuntimeError(f"{NAME}: a permit was refused: {answer.board}")


def _permit(number: int, token: int) -> Permit:
    owner = f"shop.prices.update {uuid.UUID(int=number)} on {WORKER}"
    return Permit(number, token, uuid.UUID(int=number).hex, owner, token + 900_000)


def units_of_schedules(number: int, *, missed: int = 0, max_instances: int | None = None) -> float:
    """Return the write units of an occurrence that is due alone, beside *number* - 1 daily tasks whose occurrences are not due.

    *missed*: how many moments of each other task were skipped; with *max_instances*, each other task remembers an occurrence that runs.
    """
    os.environ.update(REGION)
    with mock_aws():
        meter = _meter()
        scheduler, clock, declared = _scheduled(meter, number, missed, max_instances)
        clock.sleep(590.0)
        meter.units = 0
        if scheduler.round(declared).published != 1:
            raise RuntimeError("one occurrence is due and was not published")
        return meter.units


def units_of_an_idle_minute(number: int) -> tuple[float, float]:
    """Return the write units and the read units of a round of a scheduler that stays, with *number* schedules of which none is due."""
    os.environ.update(REGION)
    with mock_aws():
        meter = _meter()
        scheduler, clock, declared = _scheduled(meter, number)
        clock.sleep(60.0)
        meter.units = meter.read_units = 0
        scheduler.round(declared)
        return meter.units, meter.read_units


def _scheduled(meter: Meter, number: int, missed: int = 0, max_instances: int | None = None) -> tuple[Scheduler, VirtualClock, Declared]:
    """Return a scheduler that has stored *number* schedules, its clock, and the schedules: the first is due after 600 s."""
    clock, store = VirtualClock(float(NOW_S)), DynamoSchedules(meter, TABLE)
    ports = replace(memory.ports(), schedules=store, clock=clock)
    scheduler = Scheduler(ports, LamportClock(lambda: NOW_S * 1_000_000), "bench")
    names = [f"prices-{place}" for place in range(number)]
    declared = {name: _daily(name, NOW_S + 600 * (1 + (name != names[0])), max_instances) for name in names}
    scheduler.round(declared)
    running = (NOW_S - 86_400,) if max_instances else ()
    for agenda in store.read():
        if not isinstance(agenda, Agenda):
            raise agenda
        others = {name: one._replace(state=one.state._replace(missed=missed, running=running)) for name, one in agenda.periodics.items()}
        store.change(agenda._replace(periodics=others, nonce=f"of {agenda.number}"), agenda)
    return scheduler, clock, declared


def _daily(name: str, first: int, max_instances: int | None) -> Periodic:
    return declaration(Schedule(name, Every(86_400, first), max_instances=max_instances), ScheduledCall("shop.prices.update", "default"))


def section() -> Section:
    """Return the write units for the report."""
    entries = [
        Entry(f"permits_{PERMITS}_wcu", units_of_permits(PERMITS), "units", Target(PERMITS_TARGET)),
        *(Entry(f"permits_{limit}_wcu", units_of_permits(limit), "units") for limit in (10, 100, 1_000)),
        Entry(f"permits_10_waiting_{WAITING}_wcu", units_of_permits(10, WAITING), "units"),
        Entry(f"line_of_{WAITING}_wcu", units_of_a_full_line(), "units"),
        Entry(f"schedules_{SCHEDULES}_wcu", units_of_schedules(SCHEDULES), "units", Target(SCHEDULES_TARGET)),
        *(Entry(f"schedules_{number}_wcu", units_of_schedules(number), "units") for number in (10, 100, 10_000)),
        Entry(f"schedules_{SCHEDULES}_missed_wcu", units_of_schedules(SCHEDULES, missed=9), "units", Target(SCHEDULES_TARGET)),
        Entry(f"schedules_{SCHEDULES}_limited_wcu", units_of_schedules(SCHEDULES, max_instances=1), "units", Target(SCHEDULES_TARGET)),
        Entry(f"schedules_{SCHEDULES}_idle_minute_rcu", units_of_an_idle_minute(SCHEDULES)[1], "units"),
    ]
    return Section("write units", "a permit given back and taken again, all others held; an occurrence that is due alone", entries)
