"""What the invocations of a process took is told once: line by line, or together where a line of each would cost too much."""

from dataclasses import replace
from typing import Any

import pytest

from sedano import memory
from sedano.engine.history.invocation_costs import ROUTER, WORKER, Invocations
from sedano.errors import Unavailable
from sedano.memory import MemoryQueues, MemoryTelemetry, VirtualClock
from sedano.model.history.run_rows import Chronicle, Host, unpack
from sedano.model.messages.lamport import LamportClock
from sedano.ports import EVENTS, RECORDS
from sedano.ports.absent import absent

SEND = "sqs.SendMessageBatch"


class Telemetry(MemoryTelemetry):
    """Telemetry that keeps each count, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: list[tuple[str, float]] = []

    def count(self, metric: str, value: float = 1, **dimensions: str) -> None:
        self.counts.append((metric, value))
        super().count(metric, value, **dimensions)


class Queues(MemoryQueues):
    """Queues that take a tenth of a second for a call, count it, and may be away."""

    def __init__(self, clock: VirtualClock, telemetry: MemoryTelemetry) -> None:
        super().__init__(clock, [RECORDS])
        self.clock, self.telemetry, self.away, self.seconds = clock, telemetry, False, 0.1

    def send(self, queue: str, messages: Any) -> Any:
        self.clock.advance(self.seconds)
        self.telemetry.called(SEND)
        if self.away:
            raise Unavailable("sqs.SendMessageBatch: away")
        return super().send(queue, messages)

    def lines(self) -> list[dict[str, Any]]:
        """What was sent, in order."""
        return [line for message in self.peek(RECORDS) for line in unpack(message.body)]


class Function:
    """A function whose every invocation takes half a second and a call."""

    def __init__(self, kind: str, every: float = 0.0, memory_mb: int | None = None) -> None:
        self.clock, self.telemetry = VirtualClock(memory.START), Telemetry()
        self.queues, self.host = Queues(self.clock, self.telemetry), Host("here", 1, memory_mb)
        ports = replace(memory.ports(), clock=self.clock, telemetry=self.telemetry, queues=self.queues)
        self.invocations = Invocations(kind, ports, self.host, LamportClock(lambda: int(self.clock.now() * 1e6)), every)

    def invoke(self, messages: int = 1, *, happened: bool = False) -> None:
        chronicle = Chronicle(self.host)
        self.invocations.begin()
        self.clock.advance(0.5)
        self.telemetry.called("s3.GetObject")
        if happened:
            chronicle.line("message-parked", 1, self.clock.now())
        self.invocations.tell(chronicle, messages, 0)

    def told(self) -> list[tuple[int, int, dict[str, int], float, bool]]:
        return [
            (line["invocations"], line["messages"], line["calls"], line["duration_ms"], line["cold"])
            for line in self.queues.lines() if line["type"].endswith("-invocation")
        ]  # fmt: skip


@pytest.fixture
def worker() -> Function:
    return Function(WORKER)


def test_the_call_that_carries_a_line_is_told_by_the_next(worker: Function) -> None:
    worker.invoke(2)
    worker.clock.advance(100)
    worker.invoke(3)
    assert worker.told() == [(1, 2, {"s3.GetObject": 1}, 500.0, True), (1, 3, {"s3.GetObject": 1, SEND: 1}, 600.0, False)]


def test_what_the_queue_does_not_take_goes_with_the_next(worker: Function) -> None:
    worker.queues.away = True
    worker.invoke()
    worker.queues.away = False
    worker.invoke()
    assert [line[:2] for line in worker.told()] == [(1, 1), (1, 1)]
    assert worker.telemetry.counted("RecordsDelayed") == 1
    assert worker.telemetry.counted("RecordsLost") == 0


@pytest.mark.parametrize(("invocations", "lost"), [(20, []), (21, [1]), (23, [1, 1, 1])])
def test_twenty_records_wait_and_each_that_is_lost_is_counted(worker: Function, invocations: int, lost: list[int]) -> None:
    worker.queues.away = True
    for _ in range(invocations):
        worker.invoke()
    worker.queues.away = False
    worker.invoke()
    assert len(worker.told()) == 21
    assert [value for metric, value in worker.telemetry.counts if metric == "RecordsLost"] == lost


def test_the_router_tells_once_a_minute_for_all_its_invocations() -> None:
    router = Function(ROUTER, every=60.0)
    for _ in range(4):
        router.invoke(10)
    assert [line[:2] for line in router.told()] == [(1, 10)], "the first at once: most environments do little"
    router.clock.advance(60)
    router.invoke(10)
    assert router.told()[1:] == [(4, 40, {"s3.GetObject": 4, SEND: 1}, 2100.0, False)]


def test_of_many_in_a_minute_the_router_tells_ten_at_a_time() -> None:
    router = Function(ROUTER, every=60.0)
    for _ in range(25):
        router.invoke(10)
    assert [line[:2] for line in router.told()] == [(1, 10), (10, 100), (10, 100)], "four are lost if the environment ends now"


def test_what_happened_is_told_at_once() -> None:
    router = Function(ROUTER, every=60.0)
    router.invoke()
    router.invoke(happened=True)
    assert [line["type"] for line in router.queues.lines()] == ["router-invocation", "message-parked", "router-invocation"]


def test_a_run_that_ended_is_told_at_once() -> None:
    router, chronicle = Function(ROUTER, every=60.0), Chronicle(Host("here", 1))
    router.invoke()
    chronicle.rows.append(("t-1", "add", "default", "t-1", None, 0, "client", 1, 1, 2, 2, 3, 3, 4, 4, "task-succeeded", None))
    router.invocations.begin()
    router.invocations.tell(chronicle, 1, 0)
    assert [line[:2] for line in router.told()] == [(1, 1), (1, 1)]


def test_a_line_is_due_as_soon_as_its_seconds_have_passed() -> None:
    router = Function(ROUTER, every=60.0)
    router.queues.seconds = 0.0
    router.invoke()
    router.clock.advance(59.0)
    for _ in range(2):
        router.invoke()
    assert [line[:2] for line in router.told()] == [(1, 1), (2, 2)], "after 59.5 seconds it waits, after 60 it does not"


@pytest.mark.parametrize(("memory_mb", "says"), [(None, {}), (512, {"memory_mb": 512})])
def test_a_line_says_what_was_called_since_the_last_one_or_will_be_and_for_how_long(memory_mb: int | None, says: dict[str, int]) -> None:
    worker, chronicle = Function(WORKER, memory_mb=memory_mb), Chronicle(Host("here", 1))
    worker.invocations.begin()
    worker.clock.advance(0.12345678)
    at = worker.clock.now()
    worker.invocations.line(chronicle, 3, 1, {"s3.PutObject": 2, "s3.GetObject": 0})
    worker.invocations.end(3, 1, reported=True)
    worker.telemetry.called("s3.PutObject", 2)
    worker.telemetry.called(SEND)
    worker.invocations.begin()
    worker.invocations.line(chronicle, 0, 0)
    first, second = chronicle.lines
    assert first == {
        "type": WORKER, "clock": int(at * 1e6), "timestamp": at, "invocations": 1, "messages": 3, "given_back": 1, "cold": True,
        "calls": {"s3.PutObject": 2}, "duration_ms": 123.457, **says,
    }  # fmt: skip
    assert (second["calls"], second["cold"], second["duration_ms"]) == ({SEND: 1}, False, 0.0)


def test_nothing_is_sent_where_nothing_happened(worker: Function) -> None:
    worker.invocations.send(Chronicle(worker.host))
    assert worker.telemetry.calls() == {}


def test_nothing_is_sent_in_a_deployment_without_a_history(worker: Function) -> None:
    ports = replace(memory.ports(), queues=worker.queues, events=absent(EVENTS))
    invocations = Invocations(WORKER, ports, worker.host, LamportClock(lambda: 1))
    invocations.begin()
    invocations.tell(Chronicle(worker.host), 1, 0)
    assert worker.queues.lines() == []
