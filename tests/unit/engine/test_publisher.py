"""The publisher: natural batches, retries within a deadline, a backlog that must survive; and a process that has to end in the middle."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from sedano import memory
from sedano.engine.drafts import Addressed
from sedano.engine.publisher.sender import PAUSES, Publisher
from sedano.engine.publisher.spool import Taken
from sedano.errors import (
    BacklogFull,
    NotCalled,
    SedanoError,
    SpoolError,
    TooLarge,
    Unavailable,
    UnknownQueue,
)
from sedano.model.queues import SQS
from sedano.ports import Outgoing, deadlines
from tests.unit.engine.gated import Steady

QUEUE = "commands:default"
AWAY = Unavailable("away")
Answer = Callable[[list[str]], list[SedanoError | None]]


def taken(bodies: list[str]) -> list[SedanoError | None]:
    """Take everything."""
    return [None] * len(bodies)


class Gate:
    """Queues whose calls are noted and wait until the gate is open."""

    bounds = SQS

    def __init__(self, answer: Answer = taken) -> None:
        """Answer each call by *answer*; open at first."""
        self.answer, self.calls = answer, list[list[str]]()
        self.open = threading.Event()
        self.open.set()
        self.entered = threading.Semaphore(0)

    def send(self, queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
        """Note the call, wait for the gate, answer."""
        if queue != QUEUE:
            raise UnknownQueue(f"{queue}: not a queue of this deployment")
        bodies = [message.body for message in messages]
        self.calls.append(bodies)
        self.entered.release()
        assert self.open.wait(20)
        return self.answer(bodies)


class Kept(list[Addressed]):
    """A backlog that stores what it is given, up to a number; `broken` says why it cannot be used."""

    lasts = True

    def __init__(self, most: int = 100) -> None:
        """Be empty."""
        super().__init__()
        self.most, self.broken = most, ""

    def keep(self, messages: Sequence[Addressed], now: float) -> None:
        """Keep all, or none."""
        if self.broken:
            raise SpoolError(self.broken)
        if len(self) + len(messages) > self.most:
            raise BacklogFull(f"{len(self)} messages wait already")
        self.extend(messages)

    def exists(self) -> bool:
        """Tell whether anything is kept."""
        return bool(self)

    def take(self, most: int, now: float) -> list[Taken]:
        """Take some."""
        if self.broken:
            raise SpoolError(self.broken)
        return [Taken(seq, one) for seq, one in enumerate(self[:most])]

    def done(self, taken: Sequence[Any]) -> None:
        """Forget some."""
        for one in taken:
            self.remove(one.message)

    def give_back(self, taken: Sequence[Any]) -> None:
        """Put some behind the others."""
        self.done(taken)
        self.extend(one.message for one in taken)

    @property
    def bodies(self) -> list[str]:
        """What is kept."""
        return [one.outgoing.body for one in self]


def publisher(gate: Any, **options: Any) -> tuple[Publisher, memory.VirtualClock, memory.MemoryTelemetry]:
    """A publisher on a clock that does not wait."""
    clock, telemetry = memory.VirtualClock(0.0), memory.MemoryTelemetry()
    timers = memory.MemoryTimers(clock, memory.MemoryQueues(clock, ()))
    return Publisher(gate, timers, clock, memory.SeededEntropy(1), telemetry, **options), clock, telemetry


def message(body: str, queue: str = QUEUE) -> Addressed:
    """A message."""
    return Addressed(queue, Outgoing(body))


def waiting(line: Publisher, number: int) -> None:
    """Return when *number* messages wait for a lane."""
    for _ in range(20_000):
        if len(line._lines[QUEUE].waiting) == number:
            return
        threading.Event().wait(0.001)
    raise AssertionError(f"{number} messages never waited")


def crowd(gate: Gate, line: Publisher, size: int) -> list[Future[None]]:
    """Let one thread be in a call and *size* others wait for it; open the gate; return what became of all."""
    gate.open.clear()
    pool = ThreadPoolExecutor(size + 1)
    first = pool.submit(line.publish, message("first"))
    assert gate.entered.acquire(timeout=20)
    others = [pool.submit(line.publish, message(f"m{n}")) for n in range(size)]
    waiting(line, size)
    gate.open.set()
    pool.shutdown()
    return [first, *others]


def test_one_thread_sends_each_message_at_once() -> None:
    gate = Gate()
    line, clock, _ = publisher(gate)
    for body in ("a", "b"):
        line.publish(message(body))
    assert gate.calls == [["a"], ["b"]]
    assert clock.monotonic() == 0


def test_what_arrives_while_all_lanes_are_busy_is_the_next_batch() -> None:
    gate = Gate()
    line, _, _ = publisher(gate, lanes=1)
    assert [future.exception() for future in crowd(gate, line, 25)] == [None] * 26
    assert [len(call) for call in gate.calls] == [1, 10, 10, 5]
    assert len({body for call in gate.calls for body in call}) == 26


def test_a_batch_is_as_large_as_the_queues_take() -> None:
    gate = Gate()
    gate.bounds = SQS._replace(max_batch=4)
    line, _, _ = publisher(gate, lanes=1)
    crowd(gate, line, 9)
    assert [len(call) for call in gate.calls] == [1, 4, 4, 1]


def test_a_lane_that_was_handed_over_is_free_in_the_end() -> None:
    gate = Gate()
    line, _, _ = publisher(gate, lanes=1)
    crowd(gate, line, 12)
    line.publish(message("later"))
    assert gate.calls[-1] == ["later"]
    assert line._lines[QUEUE].free == 1


def test_as_many_calls_are_under_way_as_there_are_lanes() -> None:
    meeting = threading.Barrier(3, timeout=20)

    def meet(bodies: list[str]) -> list[SedanoError | None]:
        meeting.wait()
        return taken(bodies)

    line, _, _ = publisher(Gate(meet), lanes=3)
    with ThreadPoolExecutor(3) as pool:
        futures = [pool.submit(line.publish, message(body)) for body in "abc"]
    assert [future.exception() for future in futures] == [None] * 3


def test_one_bad_message_of_a_batch_is_refused_and_the_others_are_sent() -> None:
    gate = Gate(lambda bodies: [TooLarge(body) if body == "m3" else None for body in bodies])
    line, _, _ = publisher(gate, lanes=1)
    errors = [future.exception() for future in crowd(gate, line, 9)]
    assert [type(error) for error in errors if error is not None] == [TooLarge]
    assert isinstance(errors[4], TooLarge)


def test_a_leader_that_is_told_to_end_leaves_its_lane_and_its_batch_to_the_others() -> None:
    def end_once(bodies: list[str]) -> list[SedanoError | None]:
        if len(bodies) > 1 and not ended:
            ended.append(bodies[0])
            raise SystemExit(143)
        return taken(bodies)

    ended: list[str] = []
    gate = Gate(end_once)
    line, _, _ = publisher(gate, lanes=1)
    errors = [future.exception() for future in crowd(gate, line, 15)]
    assert [type(error) for error in errors if error is not None] == [SystemExit]
    assert {m.outgoing.body for m in line.close()} == set(), "what its batch kept is sent at the latest by close"
    sent = [body for call in gate.calls for body in call]
    assert {f"m{n}" for n in range(15)} <= set(sent)
    assert line._lines[QUEUE].free == 1


def test_a_queue_that_is_away_is_tried_four_times_with_growing_pauses() -> None:
    gate, kept = Gate(lambda bodies: [AWAY] * len(bodies)), Kept()
    line, clock, telemetry = publisher(gate, backlog=kept)
    line.publish(message("a"))
    assert len(gate.calls) == 1 + len(PAUSES)
    assert sum(PAUSES) / 2 <= clock.monotonic() <= sum(PAUSES)
    assert PAUSES == (0.1, 0.4, 1.6)
    assert kept.bodies == ["a"]
    assert telemetry.counted("PublishBacklogged") == 1


def test_only_what_was_not_taken_is_tried_again() -> None:
    answers = iter([[None, AWAY, None], [None]])
    gate = Gate(lambda _: next(answers))
    line, _, _ = publisher(gate)
    assert line.publish_all([message(body) for body in "abc"]) == [None, None, None]
    assert gate.calls == [["a", "b", "c"], ["b"]]


@pytest.mark.parametrize(("unit", "part"), [(0.0, 1.0), (0.5, 0.75)])
def test_jitter_shortens_each_pause_to_half_at_most(unit: float, part: float) -> None:
    line, clock, _ = publisher(Gate(lambda bodies: [AWAY] * len(bodies)))
    line._entropy = Steady(unit)
    assert line.publish_all([message("a")]) == [AWAY]
    assert clock.monotonic() == pytest.approx(sum(PAUSES) * part)


def test_a_pause_that_does_not_fit_into_the_deadline_is_not_begun_and_all_others_are() -> None:
    for seconds, calls in ((0.1, 1), (0.101, 2), (0.499, 2), (0.501, 3), (60.0, 4)):
        gate = Gate(lambda bodies: [AWAY] * len(bodies))
        line, clock, _ = publisher(gate)
        line._entropy = Steady(0.0)
        with deadlines.within(seconds, clock.monotonic()):
            line.publish_all([message("a")])
        assert (seconds, len(gate.calls)) == (seconds, calls)


def test_a_call_that_was_not_made_is_not_repeated() -> None:
    gate = Gate(lambda bodies: [NotCalled("the breaker is open")] * len(bodies))
    line, clock, _ = publisher(gate, backlog=Kept())
    line.publish(message("a"))
    assert (len(gate.calls), clock.monotonic()) == (1, 0)


def test_what_no_retry_can_cure_is_not_tried_again() -> None:
    gate, kept = Gate(lambda _: [TooLarge("a")]), Kept()
    line, clock, _ = publisher(gate, backlog=kept)
    with pytest.raises(TooLarge):
        line.publish(message("a"))
    assert (len(gate.calls), clock.monotonic(), kept) == (1, 0, [])


def test_a_queue_that_does_not_exist_is_the_callers_mistake() -> None:
    line, _, _ = publisher(Gate())
    with pytest.raises(UnknownQueue):
        line.publish(message("a", "commands:nowhere"))
    assert line.publish_all([message("a"), message("b", "commands:nowhere")])[0] is None
