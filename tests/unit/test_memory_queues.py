"""Queues in memory at their boundaries: what is numbered, held, counted and compared, to the second; their consumers and timers."""

import pytest

from sedano import memory
from sedano.errors import UnknownQueue
from sedano.model.budgets import Load
from sedano.model.queues import MAX_HOLD_S
from sedano.model.timers import EARLY_S, Foreign, Timer, sealed
from sedano.ports import Delivery, Outgoing


@pytest.fixture
def clock() -> memory.VirtualClock:
    """A clock that the test moves."""
    return memory.VirtualClock(100.0)


@pytest.fixture
def queues(clock: memory.VirtualClock) -> memory.MemoryQueues:
    """A queue, and one that keeps order, whose messages come back after 30 s."""
    return memory.MemoryQueues(clock, ["q", "q.fifo"], visibility=30.0)


def received(queues: memory.MemoryQueues, key: str = "q") -> Delivery:
    """Send one message and receive it."""
    queues.send(key, [Outgoing("{}", serial_key="k" if key == "q.fifo" else None)])
    (delivery,) = queues.receive(key)
    return delivery


def test_messages_are_numbered_from_one_over_all_queues(queues: memory.MemoryQueues) -> None:
    first, second = received(queues), received(queues, "q.fifo")
    assert [(one.message_id, one.receipt) for one in (first, second)] == [("m-1", "m-1#1"), ("m-2", "m-2#1")]


def test_a_message_that_is_forgotten_is_gone_and_the_others_stay(queues: memory.MemoryQueues) -> None:
    first, second = (queues.later("q", Outgoing(body), 60.0) for body in ("first", "second"))
    queues.forget("q", first)
    queues.forget("q", first)
    assert [one.body for one in queues.peek("q")] == ["second"]
    queues.forget("q", second)
    assert queues.depth("q") == 0


@pytest.mark.parametrize(("passed", "taken"), [(299.9, 1), (300.0, 2)])
def test_a_queue_that_keeps_order_knows_its_copies_for_five_minutes(
    clock: memory.VirtualClock, queues: memory.MemoryQueues, passed: float, taken: int
) -> None:
    copy = Outgoing("{}", serial_key="k")
    queues.send("q.fifo", [copy])
    clock.advance(passed)
    queues.send("q.fifo", [copy])
    assert queues.depth("q.fifo") == taken


def test_a_wait_that_is_shorter_than_a_poll_moves_the_clock_by_no_more(clock: memory.VirtualClock, queues: memory.MemoryQueues) -> None:
    assert queues.receive("q", wait=0.05) == []
    assert clock.monotonic() == pytest.approx(0.05)


@pytest.mark.parametrize(("seconds", "whole"), [(-5.0, 0), (0.0, 0), (0.2, 1), (1.0, 1), (1.5, 2)])
def test_a_hold_lasts_whole_seconds_from_now(queues: memory.MemoryQueues, seconds: float, whole: int) -> None:
    queues.hold(received(queues), seconds)
    assert queues.next_visible("q") == 100.0 + whole


@pytest.mark.parametrize(("passed", "seconds", "until"), [(-10, 10, 0), (-10, 11, -5), (0, 1, 0), (1, 0, 1), (1, 1, 1)])
def test_a_hold_ends_at_most_twelve_hours_after_the_receipt(
    clock: memory.VirtualClock, queues: memory.MemoryQueues, passed: int, seconds: int, until: int
) -> None:
    delivery = received(queues)
    clock.advance(MAX_HOLD_S + passed)
    queues.hold(delivery, seconds)
    assert queues.next_visible("q") == 100.0 + MAX_HOLD_S + until


@pytest.mark.parametrize("message_id", ["m-7", "m-", "elsewhere"])
def test_a_delivery_of_something_else_holds_and_deletes_nothing(queues: memory.MemoryQueues, message_id: str) -> None:
    delivery = received(queues)
    other = delivery._replace(message_id=message_id)
    queues.hold(other, 1)
    queues.delete([other])
    assert (queues.depth("q"), queues.next_visible("q")) == (1, 130.0)


@pytest.mark.parametrize(("passed", "waiting"), [(0.0, 1), (29.9, 1), (30.0, 2), (59.9, 2), (60.0, 3)])
def test_a_delayed_message_neither_waits_nor_is_in_flight(
    clock: memory.VirtualClock, queues: memory.MemoryQueues, passed: float, waiting: int
) -> None:
    received(queues)
    queues.send("q", [Outgoing("waits"), Outgoing("delayed", delay=60)])
    clock.advance(passed)
    assert queues.load("q") == Load(waiting, int(passed < 30.0))


def test_a_consumer_is_limited_as_it_was_set_and_by_ten_before(queues: memory.MemoryQueues) -> None:
    consumers = memory.MemoryConsumers(queues)
    assert consumers.limit("q") == 10
    consumers.set_limit("q", 3)
    assert (consumers.limit("q"), consumers.limit("q.fifo"), consumers.changes) == (3, 10, 1)


def test_a_queue_that_is_not_known_has_no_limit(queues: memory.MemoryQueues) -> None:
    consumers = memory.MemoryConsumers(queues)
    with pytest.raises(UnknownQueue):
        consumers.limit("gone")
    with pytest.raises(UnknownQueue):
        consumers.set_limit("gone", 1)
    assert consumers.changes == 0


@pytest.mark.parametrize(("seconds", "shown"), [(-1_000.0, 100.0), (EARLY_S, 100.0), (EARLY_S + 0.5, 100.5), (1_000.0, 1_100.0 - EARLY_S)])
def test_the_message_of_a_timer_is_visible_when_it_fires_and_never_before_now(
    clock: memory.VirtualClock, queues: memory.MemoryQueues, seconds: float, shown: float
) -> None:
    timer = Timer("t-1", 100.0 + seconds, "q", "{}", "acme")
    assert memory.MemoryTimers(clock, queues).set(timer)
    assert queues.peek("q") == [Outgoing(sealed(timer), 0, "acme")]
    assert queues.next_visible("q") == shown


def test_a_timer_that_is_moved_or_cancelled_leaves_no_message_behind(clock: memory.VirtualClock, queues: memory.MemoryQueues) -> None:
    timers, timer = memory.MemoryTimers(clock, queues), Timer("t-1", 1_000.0, "q", "{}")
    assert timers.set(timer)
    assert timers.edit("t-1", 2_000.0)
    assert queues.peek("q") == [Outgoing(sealed(timer._replace(at=2_000.0)))]
    assert timers.cancel("t-1")
    assert queues.peek("q") == []


def test_a_schedule_of_another_program_is_listed_with_what_it_lacks_until_it_is_cancelled(
    clock: memory.VirtualClock, queues: memory.MemoryQueues
) -> None:
    timers = memory.MemoryTimers(clock, queues)
    timers.leave({"Name": "theirs", "ScheduleExpression": "rate(1 day)", "State": "ENABLED"})
    (found,) = timers.foreign()
    assert found._replace(why=()) == Foreign("theirs", "ENABLED", "rate(1 day)", "", "", ())
    assert found.why[:-1] == ("recurs: rate(1 day)", "is not deleted after it has fired", "target: ")
    assert found.why[-1].startswith("message: ")
    assert timers.list() == []
    assert [timers.cancel("theirs"), timers.cancel("theirs"), *timers.foreign()] == [True, False]
