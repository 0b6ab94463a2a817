"""Order within a batch: one message of each key at a time; if one does not end, the messages behind it go back with it.

A message that must be delivered again (its task is tried again, paused, claimed by another, or something was out of reach) keeps its place
at the head of its key: it is hidden, not sent again. Those behind it are released at once, because SQS keeps a key back while any message
of it is in flight. A parked message has ended: the next message of its key continues only when the parked queue has accepted it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sedano.engine.batch import Batch, Job
from sedano.engine.gate import Gate
from sedano.engine.parked.parking import ParkingLot
from sedano.engine.pauses import tell_held
from sedano.engine.redelivery import hold_back
from sedano.model import order as serial
from sedano.ports import Delivery, Ports


class Order(Gate):
    """Processes the messages of a key one after another."""

    def __init__(self, ports: Ports, parking: ParkingLot) -> None:
        """Hold waiting messages back over *ports*; *parking* parks a message before the next of its key continues."""
        self._ports, self._parking = ports, parking

    def turns(self, deliveries: Sequence[Delivery], jobs: Sequence[Job], batch: Batch) -> Iterator[list[Job]] | None:
        """Return which of *jobs* go together, turn after turn, each when the turn before has ended.

        *deliveries*: everything that was received, in its order. None if no message has a key. A job behind one that was given back is
        given back too.
        """
        if all(delivery.serial_key is None for delivery in deliveries):
            return None
        return _turns(self._ports, deliveries, jobs, batch, self._parking)


def _turns(ports: Ports, deliveries: Sequence[Delivery], jobs: Sequence[Job], batch: Batch, parking: ParkingLot) -> Iterator[list[Job]]:
    places = {delivery.message_id: place for place, delivery in enumerate(deliveries)}
    keys, again = [_key(job.delivery) for job in jobs], [job.delivery.receives > 1 for job in jobs]
    for together in serial.turns(keys, again):
        parking.settle(batch)
        stopped = _stopped(places, batch)
        going = []
        for job in (jobs[position] for position in together):
            head = stopped.get(_key(job.delivery))
            if head is None or places[head.message_id] > places[job.delivery.message_id]:
                going.append(job)
            else:
                _wait(ports, job, head, batch)
        if going:
            yield going


def _key(delivery: Delivery) -> str:
    """Return the key of the group of *delivery*; each message of a queue without order is its own group."""
    return f"{delivery.queue} {delivery.serial_key}" if delivery.serial_key is not None else delivery.message_id


def _stopped(places: dict[str, int], batch: Batch) -> dict[str, Delivery]:
    """Return the first message of each key that was given back."""
    found: dict[str, Delivery] = {}
    for delivery in sorted(batch.given_back, key=lambda one: places[one.message_id]):
        found.setdefault(_key(delivery), delivery)
    return found


def _wait(ports: Ports, job: Job, head: Delivery, batch: Batch) -> None:
    """Defer *job* until its turn, which begins when *head* has ended."""
    batch.count("TasksHeld", job.task.name)
    tell_held(ports, job, f"it waits for its turn after message {head.message_id}, of the same serial key {head.serial_key}", 0.0, batch)
    hold_back(ports, job.delivery, 0.0, batch)
