"""The lanes that send a publisher's spool: a message on disk is sent as soon as its queue accepts it, also if another program stored it."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from sedano.aws.machine import SystemClock
from sedano.engine.drafts import Addressed
from sedano.engine.publisher.sender import Publisher
from sedano.engine.publisher.spool import Spool
from sedano.errors import ConfigurationError, SedanoError, SpoolError
from sedano.host.publisher_lanes import BATCH, PAGE, SpoolLanes
from sedano.memory import ports
from sedano.model.queues import QueueBounds
from sedano.ports import Outgoing
from tests.waiting import until

NOW = 1_800_000_000.0
GOOD, BAD = "commands:default", "commands:mail"
Answer = Callable[[str], SedanoError | None]


class Clock(SystemClock):
    """The machine's clock; the time of day is set by the test."""

    day = NOW

    def now(self) -> float:
        """Return the set time."""
        return self.day


class Accepting:
    """Queues that note what they accept, and answer as the test says."""

    bounds = QueueBounds()

    def __init__(self) -> None:
        """Accept everything."""
        self.sent: list[str] = []
        self.tried: list[str] = []
        self.calls = 0
        self.answer: Answer = lambda queue: None
        self.gate = threading.Event()
        self.gate.set()

    def send(self, queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
        """Answer all alike, once the gate is open."""
        self.calls += 1
        self.gate.wait()
        self.tried += [message.body for message in messages]
        error = self.answer(queue)
        if error is None:
            self.sent += [message.body for message in messages]
        return [error] * len(messages)


class Torn(Spool):
    """A spool whose next operations fail with the errors that the test gives; it notes when it is read."""

    errors: list[Exception] = []  # noqa: RUF012 - one list for each test

    def __init__(self, folder: Path) -> None:
        """Note nothing yet."""
        super().__init__(folder)
        self.reads = list[float]()

    def take(self, most: int, now: float, without: Sequence[str] = ()) -> list[Any]:
        """Fail, or take."""
        self.reads.append(time.monotonic())
        if self.errors:
            raise self.errors.pop()
        return super().take(most, now, without)


class Host:
    """A spool, a queue, and the lanes between them."""

    def __init__(self, folder: Path) -> None:
        """Start no lane yet."""
        self.clock, self.queues, self.ports = Clock(), Accepting(), ports()
        self.spool, self.other = Torn(folder), Spool(folder)
        self.spool.errors = []
        self.lanes: SpoolLanes | None = None

    def start(self, lanes: int = 1, **options: float) -> SpoolLanes:
        """Start the lanes."""
        queues: Any = self.queues
        publisher = Publisher(queues, self.ports.timers, self.clock, self.ports.entropy, self.ports.telemetry)
        self.lanes = SpoolLanes(
            spool=self.spool, publisher=publisher, clock=self.clock, telemetry=self.ports.telemetry, lanes=lanes, seconds=5.0,
            **options,
        )  # fmt: skip
        return self.lanes

    def keep(self, *bodies: str, queue: str = GOOD) -> None:
        """Store messages, as another program does that shares the spool."""
        self.other.keep([Addressed(queue, Outgoing(body)) for body in bodies], self.clock.day)

    def logged(self, level: str) -> list[str]:
        """Return the messages of the log."""
        log: Any = self.ports.telemetry
        return list(log.messages(level))


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    """A host whose lanes end with the test."""
    made = Host(tmp_path / "spool" / "shop" / "stage")
    yield made
    if made.lanes is not None:
        made.queues.gate.set()
        made.lanes.stop()
        until(lambda: made.lanes is not None and not made.lanes.are_running())
    made.spool.close()
    made.other.close()


def test_messages_that_another_program_stored_are_sent_and_do_not_spoil_the_count(host: Host) -> None:
    lanes = host.start()
    host.keep("a", "b")
    until(lambda: host.queues.sent == ["a", "b"])
    host.keep("c")
    lanes.added(1)
    until(lambda: lanes.sent == 3)
    until(lambda: lanes.stored == 0)
    assert host.spool.waiting() == 0


@pytest.mark.parametrize("error", [SpoolError("it is busy"), OSError("an input/output error")])
def test_a_spool_that_fails_for_a_moment_ends_no_lane(host: Host, error: Exception) -> None:
    host.spool.errors.append(error)
    host.keep("a")
    lanes = host.start()
    until(lambda: host.queues.sent == ["a"])
    assert lanes.are_running()
    assert len(host.logged("error")) == 1


def test_an_unexpected_error_of_a_queue_ends_no_lane_and_its_messages_are_tried_again(host: Host) -> None:
    errors: list[Exception] = [OSError("an adapter's fault")]

    def answer(_: str) -> None:
        if errors:
            raise errors.pop()

    host.queues.answer = answer
    host.keep("a")
    host.start()
    until(lambda: host.queues.sent == ["a"])
    assert host.queues.tried == ["a", "a"]
    assert host.logged("error") == ["an unexpected error of a queue"]


def test_what_a_killed_publisher_was_sending_waits_for_a_minute_and_nothing_else_does(host: Host) -> None:
    host.keep("taken")
    assert len(host.other.take(1, NOW)) == 1
    host.clock.day = NOW + 59
    host.start()
    host.keep("free")
    until(lambda: host.queues.sent == ["free"])
    host.clock.day = NOW + 61
    until(lambda: host.queues.sent == ["free", "taken"])
    until(lambda: host.spool.waiting() == 0)


def test_a_queue_that_accepts_nothing_blocks_no_other_one(host: Host) -> None:
    host.queues.answer = lambda queue: ConfigurationError("denied") if queue == BAD else None
    host.keep(*(f"m{number}" for number in range(BATCH)), queue=BAD)
    host.keep("d")
    lanes = host.start()
    until(lambda: host.queues.sent == ["d"])
    host.keep(*(f"n{number}" for number in range(PAGE)), queue=BAD)
    host.keep("e")
    lanes.added(PAGE + 1)
    until(lambda: host.queues.sent == ["d", "e"])
    until(lambda: lanes.stored == PAGE + BATCH)


def test_only_tried_messages_go_behind_the_others(host: Host) -> None:
    host.queues.gate.clear()
    host.queues.answer = lambda queue: ConfigurationError("denied")
    names = [f"m{number}" for number in range(BATCH + 2)]
    host.keep(*names)
    lanes = host.start()
    host.queues.gate.set()
    until(lambda: len(host.queues.tried) == BATCH)
    lanes.stop()
    until(lambda: not lanes.are_running())
    assert [one.message.outgoing.body for one in host.other.take(PAGE, NOW)] == [*names[BATCH:], *names[:BATCH]]


def test_a_full_page_calls_the_next_lane(host: Host) -> None:
    host.queues.gate.clear()
    host.keep(*(str(number) for number in range(2 * PAGE)))
    lanes = host.start(lanes=2)
    until(lambda: host.queues.calls == 2)
    host.queues.gate.set()
    until(lambda: lanes.sent == 2 * PAGE)
    assert sorted(host.queues.sent, key=int) == [str(number) for number in range(2 * PAGE)]


def test_one_lane_of_all_reads_an_idle_spool_once_in_a_while(host: Host) -> None:
    pause, began = 0.05, time.monotonic()
    host.start(lanes=4, look_s=pause)
    until(lambda: len(host.spool.reads) >= 8)
    assert host.spool.reads[7] - began >= 7 * pause
