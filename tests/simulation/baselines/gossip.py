"""Celery's own election in a simulated world: the real `Gossip` class, every event delivered exactly once and in the sender's order.

Only the time that events take is drawn from the seed; nothing is lost, nobody dies. It is asked for one dispatch an election.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

from celery.worker.consumer.gossip import Gossip
from kombu.clocks import LamportClock

from tests.simulation.world import World

ELECTION = "E1"


class Elected:
    """One election among *size* workers. After `run`, *dispatches* counts them, *errors* names what was raised."""

    def __init__(self, seed: int, size: int) -> None:
        """Set the stage."""
        self.world = World(seed)
        self.dispatches = 0
        self.errors: list[str] = []
        names = [f"worker{number}" for number in range(size)]
        self.workers = [self._worker(number, names) for number in range(size)]
        self._arrived: dict[tuple[int, int], float] = {}

    def run(self) -> int:
        """Hold the election; return how often it was dispatched."""
        for number, worker in enumerate(self.workers):
            self._later(0.05, lambda worker=worker: worker.election(ELECTION, "task", None), number)
        self.world.run(self.world.now + 600.0)
        return self.dispatches

    def _worker(self, number: int, names: list[str]) -> Any:
        connection = SimpleNamespace(transport=SimpleNamespace(driver_type="amqp"))
        state = SimpleNamespace(event=None, alive_workers=lambda: names)
        events = SimpleNamespace(Receiver=None, State=lambda **_: state)
        clock = LamportClock(1 + int(5 * self.world.dice.random()))
        app = SimpleNamespace(connection_for_read=lambda: nullcontext(connection), events=events, clock=clock)
        consumer = SimpleNamespace(app=app, hostname=names[number], pid=1, timer=None, hub=None)
        worker = Gossip(consumer)
        worker.dispatcher = SimpleNamespace(send=lambda kind, **fields: self._publish(number, worker, kind, fields))
        worker.election_handlers = {"task": lambda _: self._dispatched(number)}
        return worker

    def _dispatched(self, number: int) -> None:
        self.world.note(number, "dispatches")
        self.dispatches += 1

    def _publish(self, sender: int, worker: Any, kind: str, fields: dict[str, Any]) -> None:
        """Fan an event out to everybody; what one sender sends arrives at each receiver in that order."""
        event = {**fields, "type": kind, "clock": worker.clock.forward(), "hostname": worker.hostname, "pid": 1}
        for number, receiver in enumerate(self.workers):
            soonest = self._arrived.get((sender, number), 0.0)
            moment = max(self.world.now + 0.02 * self.world.dice.random(), soonest + 1e-6)
            self._arrived[sender, number] = moment
            self.world.at(moment, lambda receiver=receiver: self._deliver(receiver, event))  # type: ignore[misc] # bound at once

    def _deliver(self, receiver: Any, event: dict[str, Any]) -> None:
        receiver.clock.adjust(event["clock"])
        handle = receiver.on_elect if event["type"] == "worker-elect" else receiver.on_elect_ack
        try:
            handle(event)
        except IndexError as wrong:
            self.errors.append(repr(wrong))

    def _later(self, most: float, action: Callable[[], None], _: int) -> None:
        self.world.at(self.world.now + most * self.world.dice.random(), action)
