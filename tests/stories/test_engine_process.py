"""The whole engine in one process with the machine's time, over one SQLite file: tasks, events, timetables, limits, and how it ends."""

import signal
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sedano import Retry, Sedano, every
from sedano.aws.machine import SystemClock
from sedano.errors import PortMissing, RemoteError, Unavailable
from sedano.host import one_file
from sedano.host.engine_process import FAULT_S, INBOX_S, EngineProcess, ProcessSettings
from sedano.memory import MemoryTelemetry
from sedano.ports import Delivery, Ports
from sedano.ports.absent import REQUIRED_BY, absent
from tests.stories.mutants import Delegating

SECONDS = 60.0
LONG_S = 3_600.0


@pytest.fixture
def app() -> Sedano:
    """An app that tries no failed task again."""
    return Sedano("engine", retry=Retry(max_retries=0))


@pytest.fixture
def telemetry() -> MemoryTelemetry:
    """What the process logs and counts."""
    return MemoryTelemetry()


@pytest.fixture
def ports(tmp_path: Path, telemetry: MemoryTelemetry) -> Ports:
    """Ports over a file of the test's own, with the machine's time; a received message stays hidden for an hour."""
    return one_file.ports(tmp_path / "own" / "sedano.db", visibility=LONG_S, telemetry=telemetry)


def played(process: EngineProcess, play: Callable[[], object]) -> Any:
    """Run *process* on this thread until *play*, on another one, is over; return what that returned."""
    answers: list[tuple[object, BaseException | None]] = []

    def other() -> None:
        try:
            answers.append((play(), None))
        except BaseException as error:  # noqa: BLE001 - raised below, where the test waits
            answers.append((None, error))
        finally:
            process.stop()

    thread = threading.Thread(target=other)
    thread.start()
    process.run()
    thread.join(SECONDS)
    ((answer, error),) = answers
    if error is not None:
        raise error
    return answer


def eventful(app: Sedano) -> tuple[Any, Any, threading.Event, threading.Event]:
    """Declare an event, a task that packs and hears of it, and one by a timetable; return both, and what is set when they run."""
    heard, ticked = threading.Event(), threading.Event()

    @app.event
    class Ordered:
        what: str

    @Ordered.subscribe
    @app.task(name="pack")
    def pack(what: str) -> str:
        if what == "cup":
            heard.set()
        return what + "!"

    app.periodic(every(1))(app.task(name="tick")(ticked.set))
    return Ordered, pack, heard, ticked


def test_tasks_events_and_a_timetable_are_worked_off_and_recorded(app: Sedano, ports: Ports) -> None:
    (ordered, pack, heard, ticked), deadlines = eventful(app), list[float | None]()

    def play() -> str:
        answer: str = pack.delay("tea").get(timeout=SECONDS)
        ordered.delay(what="cup")
        assert heard.wait(SECONDS)
        assert ticked.wait(SECONDS)
        while b"task-succeeded" not in b"".join(ports.events.read()):
            time.sleep(0.01)
        return answer

    began = time.time()
    process = EngineProcess(app, ports, ProcessSettings(seconds=7.0, deadline=deadlines.append))
    assert played(process, play) == "tea!"
    assert deadlines[0] is not None
    assert began + 7 <= deadlines[0] <= time.time() + 7
    assert deadlines[-1] is None
    assert [member.state for member in ports.members.read()] == ["LEFT"]


def test_a_hard_time_limit_ends_a_body_that_sleeps(app: Sedano, ports: Ports) -> None:
    app.task(name="sleep", time_limit=0.2)(lambda: time.sleep(LONG_S))

    def play() -> None:
        with pytest.raises(RemoteError, match="TimeLimitExceeded"):
            app.send_task("sleep").get(timeout=SECONDS)

    played(EngineProcess(app, ports, ProcessSettings()), play)


def test_tasks_that_a_stopped_process_did_not_begin_are_begun_by_the_next_one_at_once(app: Sedano, ports: Ports) -> None:
    ran, began, go = list[int](), threading.Event(), threading.Event()

    @app.task(name="slow")
    def slow(number: int) -> int:
        ran.append(number)
        began.set()
        assert go.wait(SECONDS)
        return number

    app.attach(ports)
    with app.batch():
        results = [slow.delay(number) for number in range(3)]
    first = EngineProcess(app, ports, ProcessSettings(visibility=LONG_S))

    def stopped() -> None:
        assert began.wait(SECONDS)
        first.stop()
        go.set()

    played(first, stopped)
    assert len(ran) == 1
    second = EngineProcess(app, ports, ProcessSettings())
    assert sorted(played(second, lambda: [result.get(timeout=SECONDS) for result in results])) == [0, 1, 2]
    assert sorted(ran) == [0, 1, 2]


def test_draining_works_off_what_becomes_due_after_the_last_look_at_its_queue(app: Sedano, ports: Ports) -> None:
    ran = list[int]()
    late = app.task(name="late")(lambda: ran.append(1))

    class ShownLate(Delegating):
        """Counts of messages, one of which becomes visible just before the first count."""

        def load(self, queue: str) -> Any:
            if not ran and not sent:
                sent.append(late.delay())
            return self.inner.load(queue)

    sent = list[Any]()
    process = EngineProcess(app, replace(ports, consumers=ShownLate(ports.consumers)), ProcessSettings(alone=False))
    assert process.drain(SECONDS)
    assert ran == [1]


def test_a_signal_stops_it_after_the_body_that_runs(app: Sedano, ports: Ports) -> None:
    process: EngineProcess

    @app.task(name="interrupted")
    def interrupted() -> str:
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        return "ended"

    process = EngineProcess(app, ports, ProcessSettings())
    result = interrupted.delay()
    before = signal.signal(signal.SIGTERM, lambda *_: process.stop())
    try:
        process.run()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert result.get(timeout=SECONDS) == "ended"


class Away(Delegating):
    """Queues that fail the first two receives, one in each loop, with *fault*."""

    fault: Exception
    asked = 0

    def receive(self, *given: Any) -> Sequence[Delivery]:
        """Receive, from the third time on."""
        self.asked += 1
        if self.asked <= 2:
            raise self.fault
        found: Sequence[Delivery] = self.inner.receive(*given)
        return found


class Hurried(SystemClock):
    """The machine's clock, on which waiting takes no time."""

    def __init__(self) -> None:
        """Note how long a caller wanted to wait."""
        self.waited: list[float] = []

    def sleep(self, seconds: float) -> None:  # type: ignore[override]
        """Note the seconds."""
        self.waited.append(seconds)


@pytest.mark.parametrize("fault", [Unavailable("no answer"), ValueError("a bug in an adapter")], ids=["away", "a bug"])
def test_a_queue_that_does_not_answer_is_asked_again(fault: Exception, app: Sedano, ports: Ports, telemetry: MemoryTelemetry) -> None:
    app.task(name="one")(lambda: 1)
    clock, queues = Hurried(), Away(ports.queues)
    queues.fault = fault
    process = EngineProcess(app, replace(ports, queues=queues, clock=clock), ProcessSettings())
    result = app.send_task("one")
    app.attach(ports)
    assert played(process, lambda: result.get(timeout=SECONDS)) == 1
    assert "a queue did not answer; it is polled again" in telemetry.messages("warning")
    assert FAULT_S in clock.waited


def test_it_runs_over_the_six_ports_that_every_deployment_has(app: Sedano, ports: Ports, telemetry: MemoryTelemetry) -> None:
    app.task(name="one")(lambda: 1)
    bare = replace(ports, **{name: absent(name) for name in REQUIRED_BY})
    process = EngineProcess(app, bare, ProcessSettings())
    assert played(process, lambda: app.send_task("one").get(timeout=SECONDS)) == 1
    assert telemetry.messages("error") == telemetry.messages("warning") == []
    app.attach(None)
    app.task(name="tick", rate="1/s")(lambda: 1)
    with pytest.raises(PortMissing, match="no limits"):
        EngineProcess(app, bare, ProcessSettings())


def test_a_round_that_fails_is_logged_and_tasks_go_on(app: Sedano, ports: Ports, telemetry: MemoryTelemetry) -> None:
    app.task(name="one")(lambda: 1)

    class Broken(Delegating):
        def read(self) -> object:
            raise ValueError("a bug in an adapter")

    process = EngineProcess(app, replace(ports, schedules=Broken(ports.schedules)), ProcessSettings())
    assert played(process, lambda: app.send_task("one").get(timeout=SECONDS)) == 1
    assert "the scheduler could not do its round; it tries again in a minute" in telemetry.messages("warning")


def test_a_running_process_obeys_the_inbox_within_two_seconds_and_drains_when_it_is_asked_to(app: Sedano, ports: Ports) -> None:
    ran = threading.Event()
    pack = app.task(name="pack")(ran.set)
    process = EngineProcess(app, ports, ProcessSettings())
    took: dict[str, float] = {}

    def asked(verb: str) -> None:
        began = time.monotonic()
        command = app.control.broadcast(verb)
        while not (answers := app.control.answers(command)) and time.monotonic() < began + SECONDS:
            time.sleep(0.01)
        took[verb] = time.monotonic() - began
        assert [*answers.values()] == ["pong" if verb == "ping" else "done"]

    def play() -> None:
        asked("ping")
        asked("pause")
        pack.delay()
        assert not ran.wait(3 * INBOX_S)
        asked("resume")
        assert ran.wait(SECONDS)
        asked("drain")
        began = time.monotonic()
        while app.control.members()[0].state != "LEFT" and time.monotonic() < began + SECONDS:
            time.sleep(0.01)
        assert app.control.members()[0].state == "LEFT", "the process ended on its own"

    played(process, play)
    assert max(took.values()) < 2.0, took
