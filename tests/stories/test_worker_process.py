"""A process of workers over one SQLite file: bodies at once, each asked for alone, and the order of its end."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from sedano import Retry, Sedano
from sedano.errors import Unavailable
from sedano.host import one_file
from sedano.host.message_buffer import MessageBuffer
from sedano.memory import MemoryTelemetry
from sedano.model import states
from sedano.ports import Delivery, Outgoing, Ports, command_queue
from tests.stories.lanes_in_threads import SECONDS, VISIBILITY_S, Process
from tests.stories.mutants import Delegating
from tests.waiting import until

QUEUE = command_queue("default")


@pytest.fixture
def telemetry() -> MemoryTelemetry:
    return MemoryTelemetry()


@pytest.fixture
def ports(tmp_path: Path, telemetry: MemoryTelemetry) -> Ports:
    return one_file.ports(tmp_path / "own" / "sedano.db", ("default", "mail", "orders.fifo"), VISIBILITY_S, telemetry)


@pytest.fixture
def app() -> Sedano:
    return Sedano("worked", retry=Retry(max_retries=0), queues=("default", "mail", "orders.fifo"))


@pytest.fixture
def start(app: Sedano, ports: Ports) -> Iterator[Callable[..., Process]]:
    """Start processes, which have ended when the test has."""
    made: list[Process] = []

    def started(**settings: Any) -> Process:
        made.append(Process(app, settings.pop("ports", ports), **settings))
        return made[-1]

    yield started
    for one in made:
        one.end()


def test_a_slow_task_holds_up_only_its_own_lane(app: Sedano, start: Callable[..., Process]) -> None:
    go = threading.Event()
    slow = app.task(name="slow")(lambda: go.wait(SECONDS))
    quick = app.task(name="quick")(lambda: "done")
    one = start(concurrency=2)
    waits = slow.delay()
    assert [quick.delay().get(timeout=SECONDS) for _ in range(5)] == ["done"] * 5
    go.set()
    assert waits.get(timeout=SECONDS) is True
    assert one.end() < 10


def test_so_many_bodies_run_at_once_and_no_more(app: Sedano, ports: Ports, start: Callable[..., Process]) -> None:
    together, most, running = threading.Barrier(3), [0], [0]
    lock = threading.Lock()

    @app.task(name="counted")
    def counted() -> None:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        together.wait(SECONDS)
        with lock:
            running[0] -= 1

    app.attach(ports)
    with app.batch():
        results = [counted.delay() for _ in range(9)]
    start(concurrency=3)
    assert [result.get(timeout=SECONDS) for result in results] == [None] * 9
    assert most == [3]


def test_a_body_longer_than_the_visibility_is_received_once(app: Sedano, ports: Ports, start: Callable[..., Process]) -> None:
    began = list[float]()

    @app.task(name="long")
    def long() -> str:
        began.append(time.monotonic())
        time.sleep(VISIBILITY_S + 3)
        return "done"

    class Counted(Delegating):
        received: ClassVar[list[str]] = []

        def receive(self, *given: Any) -> Sequence[Delivery]:
            found: Sequence[Delivery] = self.inner.receive(*given)
            self.received += [one.message_id for one in found if one.queue == QUEUE]
            return found

    queues = Counted(ports.queues)
    start(concurrency=3, ports=replace(ports, queues=queues))
    assert long.delay().get(timeout=SECONDS) == "done"
    assert (len(began), len(queues.received)) == (1, 1)


def test_what_has_not_begun_goes_back_at_once_and_what_runs_may_end(app: Sedano, ports: Ports, start: Callable[..., Process]) -> None:
    began, go = threading.Event(), threading.Event()

    @app.task(name="slow")
    def slow() -> str:
        began.set()
        assert go.wait(SECONDS)
        return "ended"

    app.attach(ports)
    first = start(concurrency=1)
    runs = slow.delay()
    assert began.wait(SECONDS)
    waits = [slow.delay() for _ in range(3)]
    ended = list[float]()
    thread = threading.Thread(target=lambda: ended.append(first.end()))
    thread.start()
    until(lambda: ports.consumers.load(QUEUE).waiting == 3)
    assert not ended, "it waits for the body that runs"
    go.set()
    thread.join(SECONDS)
    assert runs.get(timeout=SECONDS) == "ended"
    start(concurrency=3)
    assert [result.get(timeout=SECONDS) for result in waits] == ["ended"] * 3
    records = ports.ledger.read([result.id for result in [runs, *waits]])
    assert {(record.state, record.fence) for record in records.values()} == {(states.SUCCESS, 1)}


def test_buffered_messages_are_visible_again_before_the_running_body_ends(ports: Ports) -> None:
    room = MessageBuffer(3, 10)
    ports.queues.send(QUEUE, [Outgoing(str(number)) for number in range(3)])
    asked = room.ask()
    assert room.arrived(asked, ports.queues.receive(QUEUE, asked)) == ()
    taken = room.take()
    assert taken is not None
    assert [one.body for one in taken] == ["0"]
    assert [one.body for one in room.waiting()] == ["1", "2"]
    assert [one.body for one in room.close()] == ["1", "2"]
    assert (room.take(), room.ask()) == (None, 0)
    late = ports.queues.receive(QUEUE)
    assert room.arrived(asked, late) == late, "an answer after the end goes back"


def test_the_end_takes_no_longer_than_the_drain_and_a_body_that_was_left_goes_back(
    app: Sedano, ports: Ports, start: Callable[..., Process], telemetry: MemoryTelemetry
) -> None:
    began, go = threading.Event(), threading.Event()

    @app.task(name="long")
    def long() -> None:
        began.set()
        go.wait(SECONDS)

    one = start(concurrency=2, drain=2.0)
    long.delay()
    assert began.wait(SECONDS)
    assert one.end() <= 3.0
    assert "bodies did not end within the drain; their messages go back" in telemetry.messages("warning")
    assert len(one.process.running()) == len(ports.queues.receive(QUEUE)) == 1
    go.set()


def test_a_body_that_is_cut_runs_elsewhere_at_once_and_records_nothing(
    app: Sedano, ports: Ports, start: Callable[..., Process], telemetry: MemoryTelemetry
) -> None:
    ran, go = list[str](), threading.Event()

    @app.task(name="stays")
    def stays() -> str:
        ran.append("begun")
        if len(ran) == 1:
            assert go.wait(SECONDS)
            return "the first one"
        return "the second one"

    first = start(concurrency=2, drain=0.0)
    result = stays.delay()
    until(lambda: len(ran) == 1)
    began = time.monotonic()
    first.end()
    start()
    assert result.get(timeout=SECONDS) == "the second one"
    assert time.monotonic() - began < VISIBILITY_S - 2, "no claim had to expire first"
    go.set()
    until(lambda: "a late outcome was refused by the ledger" in telemetry.messages("warning"))
    record = ports.ledger.read([result.id])[result.id]
    assert (record.state, record.fence, len(ran)) == (states.SUCCESS, 2, 2)


def test_a_task_that_is_cut_again_and_again_is_not_counted_as_poison(app: Sedano, start: Callable[..., Process]) -> None:
    ran, go = list[int](), threading.Event()

    @app.task(name="cut")
    def cut() -> int:
        ran.append(1)
        number = len(ran)
        assert number > 7 or go.wait(SECONDS)
        return number

    result: Any = None
    for number in range(1, 8):
        process = start(concurrency=1, drain=0.0)
        result = result or cut.delay()
        until(lambda at=number: len(ran) == at)  # type: ignore[misc]
        process.end()
    start()
    assert result.get(timeout=SECONDS) == 8
    go.set()


def test_a_ledger_that_is_away_at_the_cut_leaves_the_claim_to_expire(
    app: Sedano, ports: Ports, start: Callable[..., Process], telemetry: MemoryTelemetry
) -> None:
    away, began, go = threading.Event(), threading.Event(), threading.Event()

    class Leaving(Delegating):
        """A ledger that records nothing while it is away."""

        def record(self, outcomes: Any) -> Any:
            """Record, unless it is away."""
            if away.is_set():
                raise Unavailable("ledger: away")
            return self.inner.record(outcomes)

    @app.task(name="stays")
    def stays() -> None:
        began.set()
        assert go.wait(SECONDS)

    process = start(concurrency=1, drain=0.0, ports=replace(ports, ledger=Leaving(ports.ledger)))
    stays.delay()
    assert began.wait(SECONDS)
    away.set()
    process.end()
    go.set()
    assert "claims were not released; they expire" in telemetry.messages("warning")


def test_async_bodies_of_all_lanes_share_one_loop(app: Sedano, start: Callable[..., Process]) -> None:
    loops = list[int]()

    @app.task(name="noted")
    async def noted() -> None:
        loops.append(id(asyncio.get_running_loop()))
        await asyncio.sleep(0.05)

    start(concurrency=3)
    for result in [noted.delay() for _ in range(6)]:
        result.get(timeout=SECONDS)
    assert (len(loops), len({*loops})) == (6, 1)


def test_async_bodies_are_cancelled_and_released_at_the_end(app: Sedano, ports: Ports, start: Callable[..., Process]) -> None:
    began, cleaned, runs = threading.Event(), list[str](), list[int]()

    @app.task(name="hangs")
    async def hangs() -> str:
        runs.append(1)
        began.set()
        try:
            await asyncio.sleep(SECONDS * 60 if len(runs) == 1 else 0)
        finally:
            cleaned.append("up")
        return "ended"

    first = start(concurrency=3, drain=2.0)
    result = hangs.delay()
    assert began.wait(SECONDS)
    assert first.end() <= 3.0
    assert (cleaned, first.process.running()) == (["up"], [])
    (record,) = ports.ledger.read([result.id]).values()
    assert record.state == states.RETRY, "its claim is released, so the next worker begins it at once"
    start(concurrency=1)
    before = time.monotonic()
    assert result.get(timeout=SECONDS) == "ended"
    assert time.monotonic() - before < VISIBILITY_S - 2


def test_a_queue_that_keeps_order_is_worked_off_in_order_by_many_lanes(app: Sedano, ports: Ports, start: Callable[..., Process]) -> None:
    seen = list[int]()

    @app.task(name="ordered", queue="orders.fifo", serial_key="key")
    def ordered(key: str, number: int) -> None:
        time.sleep(0.01 * (number % 3))
        seen.append(number)

    app.attach(ports)
    with app.batch():
        results = [ordered.delay("k", number) for number in range(20)]
    start(concurrency=8)
    for result in results:
        result.get(timeout=SECONDS)
    assert seen == [*range(20)]


def test_only_its_queues_are_served(app: Sedano, ports: Ports, start: Callable[..., Process]) -> None:
    mail = app.task(name="mail", queue="mail")(lambda: "mail")
    other = app.task(name="other")(lambda: "other")
    first = start(queues=("mail",))
    waits = other.delay()
    assert mail.delay().get(timeout=SECONDS) == "mail"
    assert waits.state == states.PENDING
    first.end()
    start(queues=("default",))
    assert waits.get(timeout=SECONDS) == "other"


def test_its_lanes_join_the_cluster_when_it_starts_and_leave_it(app: Sedano, ports: Ports, start: Callable[..., Process]) -> None:
    app.task(name="one")(lambda: 1)
    one = start(concurrency=3)
    until(lambda: [member.state for member in ports.members.read()] == ["ACTIVE"] * 3)
    one.end()
    assert [member.state for member in ports.members.read()] == ["LEFT"] * 3


def test_a_body_that_ends_its_thread_stops_the_process(app: Sedano, start: Callable[..., Process], telemetry: MemoryTelemetry) -> None:
    def leaves() -> None:
        raise SystemExit(3)

    app.task(name="leaves")(leaves)
    one = start()
    app.send_task("leaves")
    until(lambda: one.process.broken is not None)
    one.end()
    assert "a lane ended; the process stops, and the message is delivered again" in telemetry.messages("error")


def test_a_queue_that_does_not_answer_is_asked_again_and_a_lost_deletion_is_logged(
    app: Sedano, ports: Ports, start: Callable[..., Process], telemetry: MemoryTelemetry
) -> None:
    class Away(Delegating):
        asked = deleted = 0

        def receive(self, queue: str, *given: Any) -> Sequence[Delivery]:
            if queue == QUEUE:
                self.asked += 1
                if self.asked == 1:
                    raise Unavailable("no answer")
            found: Sequence[Delivery] = self.inner.receive(queue, *given)
            return found

        def delete(self, deliveries: Sequence[Delivery]) -> None:
            if deliveries[0].queue == QUEUE:
                self.deleted += 1
                if self.deleted == 1:
                    raise Unavailable("no answer")
            self.inner.delete(deliveries)

    one = app.task(name="one")(lambda: 1)
    start(ports=replace(ports, queues=Away(ports.queues)))
    assert one.delay().get(timeout=SECONDS) == 1
    assert "a queue did not answer; it is polled again" in telemetry.messages("warning")
    until(lambda: "finished messages were not deleted; they are delivered again" in telemetry.messages("warning"))
    until(lambda: ports.consumers.load(QUEUE) == (0, 0))
