"""The publisher: natural batches, bounded retries, a backlog; and a process that is told to end in the middle of it."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from sedano import memory
from sedano.engine.drafts import Addressed
from sedano.engine.publisher import PAUSES, Publisher
from sedano.errors import BacklogFull, SedanoError, TooLarge, Unavailable, UnknownQueue
from sedano.ports import Outgoing

QUEUE = "commands:default"
AWAY = Unavailable("away")
Answer = Callable[[list[str]], list[SedanoError | None]]


def taken(bodies: list[str]) -> list[SedanoError | None]:
    """Take everything."""
    return [None] * len(bodies)


class Gate:
    """Queues whose calls are noted and wait until the gate is open."""

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


def publisher(gate: Any, **options: int) -> tuple[Publisher, memory.VirtualClock, memory.MemoryTelemetry]:
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
    gate = Gate(lambda bodies: [AWAY] * len(bodies))
    line, clock, telemetry = publisher(gate)
    line.publish(message("a"))
    assert len(gate.calls) == 1 + len(PAUSES)
    assert sum(PAUSES) / 2 <= clock.monotonic() <= sum(PAUSES)
    assert line.waiting() == 1
    assert telemetry.counted("PublishBacklogged") == 1


def test_only_what_was_not_taken_is_tried_again() -> None:
    answers = iter([[None, AWAY, None], [None]])
    gate = Gate(lambda _: next(answers))
    line, _, _ = publisher(gate)
    assert line.publish_all([message(body) for body in "abc"]) == [None, None, None]
    assert gate.calls == [["a", "b", "c"], ["b"]]


def test_what_no_retry_can_cure_is_not_tried_again() -> None:
    gate = Gate(lambda _: [TooLarge("a")])
    line, clock, _ = publisher(gate)
    with pytest.raises(TooLarge):
        line.publish(message("a"))
    assert (len(gate.calls), clock.monotonic(), line.waiting()) == (1, 0, 0)


def test_a_queue_that_does_not_exist_is_the_callers_mistake() -> None:
    line, _, _ = publisher(Gate())
    with pytest.raises(UnknownQueue):
        line.publish(message("a", "commands:nowhere"))
    assert line.publish_all([message("a"), message("b", "commands:nowhere")])[0] is None


class Tide:
    """A gate's answer: away until it turns."""

    def __init__(self) -> None:
        """Be away."""
        self.out = True

    def __call__(self, bodies: list[str]) -> list[SedanoError | None]:
        """Take all, or none."""
        return [AWAY if self.out else None] * len(bodies)


def test_the_backlog_goes_with_the_next_message_that_gets_through() -> None:
    tide = Tide()
    gate = Gate(tide)
    line, _, _ = publisher(gate)
    line.publish(message("a"))
    line.publish_or_keep([message("b"), message("c")])
    tide.out = False
    line.publish(message("d"))
    assert gate.calls[-2:] == [["d"], ["a", "b", "c"]]
    assert line.waiting() == 0


def test_a_full_backlog_refuses_what_it_does_not_keep() -> None:
    line, _, _ = publisher(Gate(Tide()), backlog=2)
    line.publish(message("a"))
    line.publish(message("b"))
    with pytest.raises(BacklogFull, match="2 messages wait already"):
        line.publish(message("c"))
    assert [m.outgoing.body for m in line.close()] == ["a", "b"]


def test_close_returns_what_could_not_be_sent() -> None:
    tide = Tide()
    line, _, _ = publisher(Gate(tide))
    line.publish(message("a"))
    assert [m.outgoing.body for m in line.close()] == ["a"]
    assert line.close() == []


@pytest.mark.parametrize("act", ["close", "publish", "publish_or_keep"])
def test_a_backlog_survives_a_process_that_is_told_to_end_while_it_sends(act: str) -> None:
    tide = Tide()

    def answer(bodies: list[str]) -> list[SedanoError | None]:
        if "a" in bodies and not tide.out:
            raise SystemExit(143)
        return tide(bodies)

    line, _, _ = publisher(Gate(answer))
    line.publish(message("a"))
    tide.out = False
    more = {"publish": (message("b"),), "publish_or_keep": ([message("b")],)}.get(act, ())
    with pytest.raises(SystemExit):
        getattr(line, act)(*more)
    assert line.waiting() == 1
