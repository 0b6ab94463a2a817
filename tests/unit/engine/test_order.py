"""Order within a batch alone: which jobs go together, which wait for one that was given back, and what is said of them."""

from dataclasses import replace
from typing import Any

import pytest

from sedano import memory
from sedano.engine.batch import Batch, Job
from sedano.engine.order import Order
from sedano.engine.parked.parking import ParkingLot
from sedano.errors import SedanoError, Unavailable
from sedano.memory import START
from sedano.model.messages.lamport import LamportClock
from sedano.ports import PARKED, Outgoing, Ports, command_queue
from tests.unit.engine.gated import asked, batch, job, names, told, world

FIFO = command_queue("orders.fifo")


class Closed(memory.MemoryQueues):
    """Queues of which the parked one takes nothing."""

    def send(self, queue: str, messages: Any) -> list[SedanoError | None]:
        """Refuse what is to be parked."""
        return [Unavailable("away")] * len(messages) if queue == PARKED else super().send(queue, messages)


def keyed(name: str, key: str | None, receives: int = 1, queue: str = FIFO) -> Job:
    """The job of the message *name* with a serial key."""
    one = job(name, receives=receives)
    return one._replace(delivery=one.delivery._replace(queue=queue, serial_key=key))


def gone(ports: Ports, jobs: list[Job], found: Batch, received: list[Job] | None = None) -> list[list[str]]:
    """The messages of each turn of *jobs*; *received*: the jobs of all that was received, where they are more."""
    order = Order(ports, ParkingLot(ports, LamportClock(lambda: 1)))
    turns = order.turns([one.delivery for one in received or jobs], jobs, found)
    assert turns is not None
    return [names(together) for together in turns]


def test_where_no_message_has_a_key_there_are_no_turns() -> None:
    ports = world()
    order, jobs = Order(ports, ParkingLot(ports, LamportClock(lambda: 1))), [job("a"), job("b")]
    assert order.turns([one.delivery for one in jobs], jobs, batch(ports)) is None


def test_messages_of_one_key_and_queue_go_one_after_another_and_all_others_together() -> None:
    ports = world()
    other = command_queue("second.fifo")
    jobs = [keyed("a1", "a"), keyed("a2", "a"), keyed("b1", "b"), keyed("x1", "a", queue=other), job("free"), job("also free")]
    assert gone(ports, jobs, batch(ports)) == [["a1", "b1", "x1", "free", "also free"], ["a2"]]


def test_what_was_received_before_goes_alone_after_all_others() -> None:
    ports = world()
    assert gone(ports, [keyed("a1", "a", 2), keyed("b1", "b"), keyed("c1", "c", 3)], batch(ports)) == [["b1"], ["a1"], ["c1"]]


def test_what_is_behind_a_message_that_was_given_back_waits_for_it_and_is_released_at_once() -> None:
    ports = world()
    received = [keyed("a1", "a"), keyed("a2", "a"), keyed("b1", "b"), keyed("a3", "a"), keyed("a4", "a")]
    first, second, other, third, last = received
    found = batch(ports)
    for one in (third, second):
        found.give_back(one.delivery)
    assert gone(ports, [first, other, last], found, received) == [["a1", "b1"]]
    assert told(found) == [("a4", "it waits for its turn after message a2, of the same serial key a", START)]
    assert found.counts == {("TasksHeld", "only"): 1}
    assert asked(ports.queues, "hold") == [(last.delivery, 0.0)]
    assert [one.message_id for one in found.given_back] == ["a3", "a2", "a4"]


def test_a_job_that_was_itself_given_back_does_not_go() -> None:
    ports = world()
    one, found = keyed("a1", "a"), batch(ports)
    found.give_back(one.delivery)
    assert gone(ports, [one], found) == []


def test_a_message_that_is_given_back_in_its_turn_stops_those_behind_it() -> None:
    ports, found = world(), batch(world())
    jobs = [keyed("a1", "a"), keyed("a2", "a"), keyed("b1", "b"), keyed("b2", "b")]
    turns = Order(ports, ParkingLot(ports, LamportClock(lambda: 1))).turns([one.delivery for one in jobs], jobs, found)
    assert turns is not None
    assert names(next(turns)) == ["a1", "b1"]
    found.give_back(jobs[0].delivery)
    assert names(next(turns)) == ["b2"]
    assert [one[0] for one in told(found)] == ["a2"]


@pytest.mark.parametrize(("is_closed", "going"), [(False, ["a2"]), (True, [])])
def test_the_next_of_a_key_goes_when_the_parked_queue_has_taken_the_message_before_it(is_closed: bool, going: list[str]) -> None:
    ports = memory.ports()
    ports = replace(ports, queues=Closed(ports.clock, memory.queue_keys(()))) if is_closed else ports
    jobs, found = [keyed("a1", "a"), keyed("a2", "a")], batch(ports)
    turns = Order(ports, ParkingLot(ports, LamportClock(lambda: 1))).turns([one.delivery for one in jobs], jobs, found)
    assert turns is not None
    assert names(next(turns)) == ["a1"]
    found.park(jobs[0].delivery, "malformed", "body", "-")
    assert [name for together in turns for name in names(together)] == going
    parked: list[Outgoing] = [] if is_closed else [*ports.queues.peek(PARKED)]
    assert [one.attributes["message_id"] for one in parked] == going[:0] + ["a1"] * len(going)
