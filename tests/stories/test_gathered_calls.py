"""Lanes and receivers wait a moment for others that are about to come, so that they share short calls; else they do not wait."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from sedano import memory
from sedano.host.acknowledger import Acknowledger
from sedano.host.gathered_calls import GATHER_S, LEAST_S, MOST_LANES, GatheredCalls, Wait
from sedano.host.message_buffer import WAKE_S, MessageBuffer
from sedano.ports import Delivery, Outgoing
from tests.stories.lanes_in_threads import SECONDS
from tests.waiting import until


class Waits:
    """Waits until it is notified, and notes how long it was asked to."""

    def __init__(self) -> None:
        """Begin without any."""
        self.asked = list[float]()

    def __call__(self, condition: threading.Condition, seconds: float) -> None:
        """Wait for a notification, or for so long that the test has failed."""
        self.asked.append(seconds)
        assert condition.wait(SECONDS), "the notification that ends the wait"


@contextmanager
def asking(room: MessageBuffer, queue: str = "") -> Iterator[list[int]]:
    """Let a receiver of *queue* ask, and yield what it gets."""
    found = list[int]()
    thread = threading.Thread(target=lambda: found.append(room.ask(queue=queue)))
    thread.start()
    yield found
    thread.join(SECONDS)
    assert not thread.is_alive()


def _messages(number: int, queue: str = "") -> list[Delivery]:
    return [Delivery(queue, f"m-{one}", f"r-{one}", "") for one in range(number)]


def _room(lanes: int, wait: Wait) -> MessageBuffer:
    """Return a buffer whose lanes work, and whose receiver has received for several at its last request."""
    room = MessageBuffer(lanes, 10, wait, lambda: True)
    room.arrived(room.ask(), _messages(lanes))
    for unit in [room.take() or () for _ in range(lanes)]:
        room.done(unit)
    room.arrived(room.ask(), _messages(lanes))
    return room


def test_a_receiver_requests_for_all_lanes_that_end_at_almost_the_same_time() -> None:
    waits = Waits()
    room = _room(3, waits)
    units = [room.take() or () for _ in range(3)]
    with asking(room) as found:
        room.done(units[0])
        until(lambda: waits.asked)
        room.done(units[1])
        assert found == [], "a body still runs"
        room.done(units[2])
    assert (found, waits.asked) == ([3], [GATHER_S])


def test_a_receiver_does_not_wait_for_messages_that_no_lane_has_taken() -> None:
    waits = Waits()
    room = _room(3, waits)
    room.done(room.take() or ())
    assert (room.ask(), waits.asked) == (1, [])


def test_a_receiver_waits_again_only_after_several_lanes_have_ended_together() -> None:
    waited = list[float]()
    room = _room(4, lambda _, seconds: waited.append(seconds))
    units = [room.take() or () for _ in range(4)]
    for ends, waits in ((1, 1), (1, 1), (2, 1), (1, 2)):
        for unit in units[:ends]:
            room.done(unit)
        room.arrived(room.ask(), _messages(ends))
        units = units[ends:] + [room.take() or () for _ in range(ends)]
        assert len(waited) == waits


def test_a_receiver_does_not_wait_for_a_short_task_beside_long_ones_or_after_an_empty_answer() -> None:
    waits = Waits()
    room = MessageBuffer(10, 10, waits, lambda: True)
    room.arrived(room.ask(), _messages(9))
    for _ in range(9):
        room.take()
    for _ in range(20):
        room.arrived(room.ask(), [])
        room.arrived(room.ask(), _messages(1))
        room.done(room.take() or ())
    assert waits.asked == []


def test_a_receiver_does_not_wait_while_calls_are_long() -> None:
    waits = Waits()
    room = _room(3, waits)
    room._are_short = lambda: False
    room.done(room.take() or ())
    room.take()
    assert (room.ask(), waits.asked) == (1, [])


def test_a_receiver_waits_for_a_body_that_goes_on_no_longer_than_a_moment() -> None:
    room = _room(3, threading.Condition.wait)
    units = [room.take() or () for _ in range(3)]
    with asking(room) as found:
        room.done(units[0])
    assert found == [1]


def test_a_receiver_asks_at_once_when_no_body_runs() -> None:
    waits = Waits()
    room = _room(3, waits)
    for unit in [room.take() or () for _ in range(3)]:
        room.done(unit)
    assert room.ask() == 3
    assert waits.asked == []


def test_a_receiver_that_waits_for_more_hides_the_end_of_a_body_from_no_other_receiver() -> None:
    waits = Waits()
    room = _room(3, waits)
    for unit in [room.take() or () for _ in range(3)]:
        room.done(unit)
    room.resize(3, 10, {"limited": 1})
    of_limited, of_other = room.ask(queue="limited"), room.ask()
    room.arrived(of_limited, _messages(1, "limited"), "limited")
    room.arrived(of_other, _messages(2))
    limited, first, last = (room.take() or () for _ in range(3))
    with asking(room, "limited") as told, asking(room) as found:
        room.done(first)
        until(lambda: len(waits.asked) == 1)  # one receiver waits for more; the other one's queue has its most bodies
        room.done(limited, "limited")
        ended = time.monotonic()
        until(lambda: len(waits.asked) == 2)
        assert time.monotonic() - ended < WAKE_S, "it is notified, and does not find out when it wakes"
        room.done(last)
    assert sorted([*told, *found]) == [1, 3]


class Calls(GatheredCalls):
    """Calls that each take *took* seconds; *is_coming*: whether a lane is about to take a task."""

    def __init__(self, wait: Wait, took: float = LEAST_S * 2, is_coming: bool = True) -> None:
        """Begin without a call."""
        self.passed, self.took = 0.0, took
        super().__init__(lambda: is_coming, wait, lambda: self.passed)

    def call(self, lanes: int) -> None:
        """Make one call for *lanes* lanes."""
        with self.lock:
            for _ in range(lanes):
                self.add()
            self.gather()
        with self.timed():
            self.passed += self.took


@pytest.mark.parametrize(
    ("before", "lanes", "took", "is_coming", "does"),
    [
        (2, 1, LEAST_S, True, True), (2, MOST_LANES - 1, LEAST_S, True, True), (2, MOST_LANES, LEAST_S, True, False),
        (1, 1, LEAST_S, True, False), (2, 1, LEAST_S, False, False), (2, 1, GATHER_S * 0.99, True, True), (2, 1, GATHER_S, True, False),
        (2, 1, LEAST_S * 0.99, True, False),
    ],
)  # fmt: skip
def test_a_lane_waits_for_others_while_they_come_and_calls_are_short_and_the_last_one_was_for_several(
    before: int, lanes: int, took: float, is_coming: bool, does: bool
) -> None:
    waited = list[float]()
    calls = Calls(lambda _, seconds: waited.append(seconds), took, is_coming)
    calls.call(before)
    assert waited == [], "nothing is known of others at first"
    calls.call(lanes)
    assert waited == [GATHER_S] * does


def test_a_wait_that_gains_no_lane_is_the_last_until_a_call_is_for_several() -> None:
    waited = list[float]()
    calls = Calls(lambda _, seconds: waited.append(seconds))
    for lanes, waits in ((2, 0), (3, 1), (1, 1), (2, 1), (1, 2)):
        calls.call(lanes)
        assert len(waited) == waits


def test_calls_are_short_by_the_quickest_of_the_last_ones() -> None:
    calls = Calls(Waits(), took=GATHER_S / 2)
    assert not calls.are_short
    calls.call(1)
    calls.took = 1.0
    calls.call(1)
    assert calls.are_short, "one call that was interrupted says nothing"
    for _ in range(7):
        calls.call(1)
    assert not calls.are_short


@pytest.mark.parametrize("comes", [True, False], ids=["comes", "goes back"])
@pytest.mark.parametrize("lanes", [2, 4])
def test_the_last_lane_that_took_a_task_ends_the_wait(lanes: int, comes: bool) -> None:
    waits, ports, taken, go = Waits(), memory.ports(), threading.Barrier(lanes + 1), threading.Event()
    calls = Calls(waits, is_coming=False)
    calls.call(2)
    acknowledger = Acknowledger(ports, calls)
    ports.queues.send("commands:default", [Outgoing(str(number)) for number in range(lanes)])
    received = ports.queues.receive("commands:default", lanes)

    def lane(number: int) -> None:
        calls.expect()
        taken.wait(SECONDS)
        assert number == 0 or go.wait(SECONDS)
        if comes or number < lanes - 1:
            acknowledger.delete([received[number]])
        calls.forget()

    threads = [threading.Thread(target=lane, args=(number,)) for number in range(lanes)]
    for thread in threads:
        thread.start()
    taken.wait(SECONDS)
    until(lambda: waits.asked)
    go.set()
    for thread in threads:
        thread.join(SECONDS)
    assert not any(thread.is_alive() for thread in threads)
    assert waits.asked == [GATHER_S]
    assert ports.consumers.load("commands:default") == (0, 0 if comes else 1)


def test_ten_lanes_end_the_wait_although_more_come() -> None:
    waits, ports = Waits(), memory.ports()
    calls = Calls(waits)
    calls.call(2)
    acknowledger = Acknowledger(ports, calls)
    ports.queues.send("commands:default", [Outgoing(str(number)) for number in range(MOST_LANES)])
    received = ports.queues.receive("commands:default", MOST_LANES)
    first = threading.Thread(target=acknowledger.delete, args=([received[0]],))
    first.start()
    until(lambda: waits.asked)
    for delivery in received[1:]:
        acknowledger.delete([delivery])
    first.join(SECONDS)
    assert not first.is_alive()
    assert (waits.asked, ports.consumers.load("commands:default")) == ([GATHER_S], (0, 0))


def test_a_message_is_taken_soon_only_while_a_lane_is_free() -> None:
    room = MessageBuffer(2, 10)
    assert not room.is_taken_soon
    room.arrived(2, _messages(3))
    assert room.is_taken_soon
    units = [room.take() or () for _ in range(2)]
    assert not room.is_taken_soon
    room.done(units[0])
    assert room.is_taken_soon
