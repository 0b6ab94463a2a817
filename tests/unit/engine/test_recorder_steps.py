"""What the recorder does beside the objects: it parks, hides and reports, and none of these keeps the others from being done."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from sedano import memory
from sedano.engine.history.recorder import Recorder
from sedano.errors import PortMissing, SedanoError, Unavailable
from sedano.memory import START, MemoryQueues, MemoryTelemetry, VirtualClock
from sedano.memory.events import MemoryEvents
from sedano.memory.rollups import MemoryRollups
from sedano.model.history.cost_shares import Share, SharePlace
from sedano.model.history.rollups import read
from sedano.model.history.run_rows import MICRO, Chronicle, Host
from sedano.ports import PARKED, RECORDS, Delivery, Outgoing, Ports
from sedano.ports.absent import Absent

DAY_S = 86_400.0
HOST = Host("recorder", 1)
REFUSED = "2026-01-01"
"""The day of START."""


class Events(MemoryEvents):
    """A history that refuses the objects of some days."""

    refused: Sequence[str] = ()

    def append(self, day: str, lines: bytes, own: bytes = b"") -> str:
        """Refuse it, or write it."""
        if day in self.refused:
            raise Unavailable("s3.PutObject: SlowDown")
        return super().append(day, lines, own)


class Held(MemoryQueues):
    """Queues that note which messages were hidden, and for how long."""

    def __init__(self) -> None:
        super().__init__(VirtualClock(START), (RECORDS, PARKED))
        self.held: list[tuple[str, float]] = []

    def hold(self, delivery: Delivery, seconds: float) -> None:
        """Note it."""
        self.held.append((delivery.message_id, seconds))


class Breaking(Held):
    """Queues in which each step has a defect."""

    def send(self, queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
        """Break."""
        raise RuntimeError("a defect")

    def hold(self, delivery: Delivery, seconds: float) -> None:
        """Break."""
        super().hold(delivery, seconds)
        raise RuntimeError("a defect")


class Loud(MemoryTelemetry):
    """Telemetry whose flush has a defect."""

    def flush(self) -> None:
        """Break."""
        super().flush()
        raise RuntimeError("a defect")


def ported(**others: Any) -> Ports:
    """Ports in memory, with *others* in their places."""
    return replace(memory.ports(), **{"queues": Held(), "events": Events(), **others})


def record(name: str, at: float = START) -> Delivery:
    """A record of one line, named by its message."""
    chronicle = Chronicle(Host("worker", 7))
    chronicle.line("worker-heartbeat", int(at * MICRO), at, uuid=name)
    return Delivery(RECORDS, name, f"r-{name}", chronicle.pack())


def lines(ports: Ports, kind: str) -> list[dict[str, Any]]:
    """The lines of *kind* in the history."""
    every = [json.loads(line) for data in ports.events.read() for line in data.splitlines()]
    return [line for line in every if line["type"] == kind]


def test_a_deployment_without_a_history_has_no_recorder() -> None:
    with pytest.raises(PortMissing, match="the recorder"):
        Recorder(ported(events=Absent("events")), HOST)


def test_its_own_line_has_the_time_as_its_clock() -> None:
    ports = ported()
    Recorder(ports, HOST).record([record("a")], START + 60)
    (line,) = lines(ports, "recorder-invocation")
    assert line["clock"] == START * MICRO


def test_its_own_line_counts_what_could_not_be_written_before_it() -> None:
    ports = ported()
    ports.events.refused = [REFUSED]  # type: ignore[misc]
    given = [record("a"), record("b"), record("c", START + DAY_S)]
    assert Recorder(ports, HOST).record(given, START + 60) == given[:2]
    (line,) = lines(ports, "recorder-invocation")
    assert (line["messages"], line["given_back"]) == (3, 2)


def test_it_parks_what_is_no_record_hides_what_is_given_back_and_flushes_once() -> None:
    ports = ported()
    ports.events.refused = [REFUSED]  # type: ignore[misc]
    given = [record("bad")._replace(body="not JSON"), record("a")._replace(receives=3), record("c", START + DAY_S)]
    assert [one.message_id for one in Recorder(ports, HOST).record(given, START + 60)] == ["a"]
    (parked,) = ports.queues.receive(PARKED)  # type: ignore[attr-defined]
    assert "not JSON" in parked.body
    ((hidden, seconds),) = ports.queues.held  # type: ignore[attr-defined]
    assert hidden == "a"
    assert seconds > 0
    assert ports.telemetry.flushes == 1  # type: ignore[attr-defined]


def test_what_is_hidden_is_hidden_before_the_metrics_are_written() -> None:
    class Noting(Held):
        def hold(self, delivery: Delivery, seconds: float) -> None:
            self.held.append((delivery.message_id, telemetry.flushes))

    telemetry = MemoryTelemetry()
    ports = ported(queues=Noting(), telemetry=telemetry)
    ports.events.refused = [REFUSED]  # type: ignore[misc]
    Recorder(ports, HOST).record([record("a")], START + 60)
    assert ports.queues.held == [("a", 0)]  # type: ignore[attr-defined]
    assert telemetry.flushes == 1


def test_the_next_line_has_the_time_that_the_metrics_took() -> None:
    class Slow(MemoryTelemetry):
        def flush(self) -> None:
            clock.advance(0.5)

    clock = VirtualClock(START)
    ports = ported(clock=clock, telemetry=Slow())
    writer = Recorder(ports, HOST)
    writer.record([record("a")], START + 60)
    writer.record([record("b")], START + 60)
    assert sorted(line["duration_ms"] for line in lines(ports, "recorder-invocation")) == [0.0, 500.0]


def test_a_message_that_cannot_be_parked_is_hidden_too() -> None:
    class Full(Held):
        def send(self, queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
            return [Unavailable("full") for _ in messages]

    ports = ported(queues=Full())
    bad = record("bad")._replace(body="not JSON")
    assert Recorder(ports, HOST).record([bad], START + 60) == [bad]
    assert [name for name, _ in ports.queues.held] == ["bad"]  # type: ignore[attr-defined]


def test_a_defect_of_one_of_these_steps_keeps_none_of_the_others_from_being_done() -> None:
    ports = ported(queues=Breaking(), telemetry=Loud())
    ports.events.refused = [REFUSED]  # type: ignore[misc]
    given = [record("bad")._replace(body="not JSON"), record("a"), record("c", START + DAY_S)]
    writer = Recorder(ports, HOST)
    assert {one.message_id for one in writer.record(given, START + 60)} == {"bad", "a"}
    assert [line["uuid"] for line in lines(ports, "worker-heartbeat")] == ["c"]
    assert ports.queues.held  # type: ignore[attr-defined]
    assert ports.telemetry.flushes == 1  # type: ignore[attr-defined]
    assert len(lines(ports, "recorder-invocation")) == 1


def test_a_deployment_without_roll_ups_has_its_history() -> None:
    ports = ported(rollups=Absent("rollups"))
    assert Recorder(ports, HOST).record([record("a")], START + 60) == []
    assert len(lines(ports, "worker-heartbeat")) == 1


def test_an_object_without_an_end_or_a_report_has_no_roll_up() -> None:
    rollups = MemoryRollups()
    ports = ported(rollups=rollups)
    assert Recorder(ports, HOST).record([record("a"), record("b", START + DAY_S)], START + 60) == []
    assert len(lines(ports, "worker-heartbeat")) == 2
    assert len(rollups.read(0, 10**9)) == 1, "that of the day with the recorder's own report"


def test_an_invocation_whose_line_was_not_written_is_in_the_next_line() -> None:
    ports = ported()
    ports.events.refused = ["2026-01-02"]  # type: ignore[misc]
    writer, given = Recorder(ports, HOST), [record("a"), record("b", START + DAY_S), record("c", START + DAY_S)]
    assert writer.record(given, START + 60) == given[1:]
    ports.events.refused = []  # type: ignore[misc]
    assert writer.record([record("d")], START + 60) == []
    (line,) = lines(ports, "recorder-invocation")
    assert (line["invocations"], line["messages"], line["given_back"]) == (2, 4, 2)


def run(name: str, tenant: str, receives: int) -> Delivery:
    """A record of one run for a tenant, and of the invocation in which it ran."""
    chronicle, at = Chronicle(Host(name, 1, 512)), int(START * MICRO)
    times = (at, 1, at, 2, at, 3, at + 1_000, 4)
    chronicle.rows.append((name, "pay", "default", None, None, 0, "client", *times, "task-succeeded", None, f"tenant={tenant}"))
    chronicle.line("worker-invocation", 9, START, invocations=1, messages=1, calls={}, duration_ms=1_000.0, memory_mb=512)
    return Delivery(RECORDS, name, f"r-{name}", chronicle.pack(), receives)


def test_the_roll_up_of_an_app_with_a_spending_limit_has_the_shares_of_its_tenants() -> None:
    given, minute = [run("first", "acme", 1), run("second", "blue", 2)], int(START) // 60
    found = []
    for tenants in (None, ["acme"]):
        rollups = MemoryRollups()
        ports = ported(rollups=rollups)
        assert Recorder(ports, HOST, tenants=tenants).record(given, START + 60) == []
        (one,) = rollups.read(0, 10**9)
        assert one.name.startswith(f"events/dt={REFUSED}/")
        found.append(read(one.text))
    without, sums = found
    assert without is not None
    assert sums is not None
    cost = round(0.5 * 13.3334 * 1_000 + 0.2 * 1_000)
    assert sums.shares == {SharePlace("pay", "acme", minute): Share(1, cost), SharePlace("pay", "", minute): Share(1, cost)}
    assert (sums.again, sum(each.number for each in sums.runs.values()), set(sums.spent)) == (
        1, 2, {("worker", minute), ("recorder", minute)},
    )  # fmt: skip
    assert without == sums._replace(shares={})
