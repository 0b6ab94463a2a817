"""The reads of a view: counted by the size of what was read, priced as on AWS; a view cannot write."""

from dataclasses import fields
from typing import Any

import pytest

from sedano import memory
from sedano.model.ledger.records import Claim, ErrorRecord, Outcome
from sedano.model.states import FAILURE, SUCCESS
from sedano.ports import MemberRecord, Ports
from sedano.ports.absent import absent, has
from sedano.views.reads import FREE, READS, Tally, counted

NOW = memory.START


def kept(ports: Ports, task_id: str, result: str) -> None:
    """Record a result."""
    ports.ledger.claim([Claim(task_id, 0, "m", "n", NOW + 60, 1, "add", owner="w")])
    outcome = Outcome(
        task_id=task_id, state=SUCCESS, nonce="n", fence=1, message_id="m", attempt=0, clock=2, name="add", at=NOW, result=result
    )  # fmt: skip
    ports.ledger.record([outcome])


@pytest.mark.parametrize(("length", "units"), [(1, 1), (3_000, 1), (4_096, 2), (10_000, 3), (90_000, 23)])
def test_a_record_costs_a_unit_for_each_started_4_kb(length: int, units: int) -> None:
    ports, tally = memory.ports(), Tally()
    kept(ports, "t", "x" * length)
    counted(ports, tally).ledger.read(["t"])
    assert tally.reads() == ({"dynamodb.GetItem": 1}, units, round(units * 0.125, 4))


def test_a_record_that_does_not_exist_costs_a_unit_and_a_hundred_records_are_one_call() -> None:
    ports, tally = memory.ports(), Tally()
    counted(ports, tally).ledger.read([f"t-{number}" for number in range(101)])
    assert tally.reads() == ({"dynamodb.BatchGetItem": 2}, 101, 12.625)


def test_an_index_costs_half_a_unit_for_the_sum_of_its_items() -> None:
    ports, tally = memory.ports(), Tally()
    for number in range(100):
        ports.members.beat(MemberRecord(f"worker-{number}", 1, "ACTIVE", 0, NOW, ("a" * 36,)))
    counted(ports, tally).members.read()
    assert (tally.reads().calls, tally.reads().units) == ({"dynamodb.Query": 1}, 1.5)


@pytest.mark.parametrize(("number", "most", "units"), [(0, 9, 2), (9, 10, 2), (9, 9, 2), (400, 1_000, 6), (400, 400, 22)])
def test_the_failures_of_a_day_are_four_queries_and_cost_half_a_unit_for_4_kb_of_each(number: int, most: int, units: float) -> None:
    ports, tally = memory.ports(), Tally()
    for one in range(number):
        outcome = Outcome(
            task_id=f"{one:036}", state=FAILURE, nonce="n", fence=0, message_id="m", attempt=0, clock=2, name="a" * 20, at=NOW,
            error=ErrorRecord("ValueError", ""),
        )  # fmt: skip
        ports.ledger.keep([outcome])
    counted(ports, tally).ledger.failures("2026-01-01", most)
    assert (tally.reads().calls, tally.reads().units) == ({"dynamodb.Query": 4}, units)


def test_the_history_costs_a_get_an_object_and_a_list_a_thousand() -> None:
    ports, tally = memory.ports(), Tally()
    for number in range(1_001):
        ports.events.append("2026-01-01", f"{number}\n".encode())
    history = counted(ports, tally).events.read("2026-01-01")
    next(history)
    assert tally.reads().calls == {"s3.GetObject": 1, "s3.ListObjectsV2": 1}, "what was not read yet costs nothing"
    assert len([*history]) == 1_000
    assert tally.reads() == ({"s3.GetObject": 1_001, "s3.ListObjectsV2": 2}, 0.0, 410.4)


def test_a_view_cannot_write_and_cannot_scan() -> None:
    ports: Any = counted(memory.ports(), Tally())
    for port, operation in (("ledger", "claim"), ("control", "change"), ("queues", "send"), ("queues", "delete"), ("flow_runs", "list")):
        with pytest.raises(TypeError, match=f"{port}.{operation}: a view only reads"):
            getattr(getattr(ports, port), operation)


def test_every_operation_of_every_port_is_a_counted_read_or_is_refused() -> None:
    plain, watched = memory.ports(), counted(memory.ports(), Tally())
    names = {one.name for one in fields(Ports)} - FREE - {"most_budget", "store_time", "group_commit"}
    for name in names:
        port = getattr(plain, name)
        for operation in (one for one in dir(port) if not one.startswith("_") and callable(getattr(port, one))):
            if (name, operation) in READS:
                assert callable(getattr(getattr(watched, name), operation))
            else:
                with pytest.raises(TypeError, match="a view only reads"):
                    getattr(getattr(watched, name), operation)
    assert {name for name, _ in READS} <= names


def test_what_a_deployment_lacks_stays_absent_and_values_need_no_call() -> None:
    ports = memory.ports()
    lacking = Ports(
        ledger=ports.ledger, queues=ports.queues, blobs=ports.blobs, clock=ports.clock, entropy=ports.entropy, telemetry=ports.telemetry,
        members=absent("members"),
    )  # fmt: skip
    tally = Tally()
    watched = counted(lacking, tally)
    assert not has(watched.members)
    assert has(watched.ledger)
    assert watched.queues.bounds == ports.queues.bounds
    assert tally.reads() == ({}, 0.0, 0.0)
