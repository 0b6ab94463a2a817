"""Lanes and receivers under load wait a moment for each other, so that they share calls; a short task beside long ones never does."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from sedano import memory
from sedano.host.acknowledger import Acknowledger
from sedano.host.gathered_calls import GATHER_S, MOST_LANES, GatheredCalls
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


def _ask_of_a_full_room(room: MessageBuffer, most: int) -> None:
    room.arrived(room.ask(), _messages(most))


def test_a_receiver_requests_for_all_lanes_that_end_at_almost_the_same_time() -> None:
    waits = Waits()
    room = MessageBuffer(3, 10, waits)
    _ask_of_a_full_room(room, 3)
    units = [room.take() or () for _ in range(3)]
    with asking(room) as found:
        room.done(units[0])
        until(lambda: waits.asked)
        room.done(units[1])
        assert found == [], "a body still runs"
        room.done(units[2])
    assert (found, waits.asked) == ([3], [GATHER_S])


def test_a_receiver_waits_for_a_body_that_goes_on_no_longer_than_a_moment() -> None:
    room = MessageBuffer(3, 10)
    _ask_of_a_full_room(room, 3)
    with asking(room) as found:
        room.done(room.take() or ())
    assert found == [1]


def test_a_receiver_asks_at_once_when_no_body_runs() -> None:
    waits = Waits()
    assert MessageBuffer(3, 10, waits).ask() == 3
    assert waits.asked == []


def test_a_receiver_that_waits_for_more_hides_the_end_of_a_body_from_no_other_receiver() -> None:
    waits = Waits()
    room = MessageBuffer(3, 10, waits)
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


def _call(calls: GatheredCalls, lanes: int) -> None:
    """Make one call for *lanes* lanes."""
    with calls.lock:
        for _ in range(lanes):
            calls.add()
        calls.gather()


@pytest.mark.parametrize(
    ("before", "lanes", "busy", "does"),
    [(2, 1, True, True), (2, MOST_LANES - 1, True, True), (2, MOST_LANES, True, False), (1, 1, True, False), (2, 1, False, False)],
)
def test_a_lane_waits_for_others_while_they_work_and_the_last_call_was_for_several(before: int, lanes: int, busy: bool, does: bool) -> None:
    waited = list[float]()
    calls = GatheredCalls(lambda: busy, lambda _, seconds: waited.append(seconds))
    _call(calls, before)
    assert waited == [], "nothing is known of others at first"
    _call(calls, lanes)
    assert waited == [GATHER_S] * does


def test_the_lane_that_fills_a_call_ends_the_wait_for_it() -> None:
    waits, ports = Waits(), memory.ports()
    calls = GatheredCalls(lambda: True, waits)
    _call(calls, 2)
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
