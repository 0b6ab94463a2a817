"""Test your tasks with the real engine, in memory, on virtual time: no AWS, no waiting, no mocks.

    with sedano.testing.world(app) as world:
        result = add.delay(2, 3)
        world.drain()
        assert result.get() == 5
        assert world.sent("shop.tasks.add") == [{"args": [2, 3], "kwargs": {}}]

What runs is the worker, the router and the recorder that run in Lambda; what is replaced are the ports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sedano.app import Sedano
from sedano.engine.chronicle import Host
from sedano.engine.recorder import Recorder
from sedano.engine.router import Router
from sedano.engine.worker import Worker, WorkerSettings
from sedano.memory import WaitingClock, memory_ports
from sedano.model import codec
from sedano.model.messages import LAUNCH, Command, Event
from sedano.ports import EVENTS, PARKED, RECORDS, Delivery, Ports, command_queue

INVOCATION_S = 900.0
MOST_ROUNDS = 100_000


class World:
    """A whole deployment in memory: queues, ledger, worker, router and recorder of one app."""

    def __init__(self, app: Sedano, ports: Ports, settings: WorkerSettings) -> None:
        """Run *app* over *ports*."""
        self.app, self.ports = app, ports
        self.worker = Worker(app.registry, ports, Host("memory.1.00000000", 1), settings, app.run_loop())
        self.router = Router(app.registry, ports, Host("memory.2.00000000", 2))
        self.recorder = Recorder(ports, Host("memory.3.00000000", 3))
        works: dict[str, Callable[[Sequence[Delivery], float], list[Delivery]]] = {EVENTS: self.router.route, RECORDS: self.recorder.record}
        self._works = {command_queue(q): self.worker.work for q in app.queues} | works

    def step(self) -> bool:
        """Deliver one batch of each queue; return whether there was any."""
        return any([self._deliver(queue) for queue in self._works])

    def drain(self) -> None:
        """Deliver until nothing is left, letting virtual time pass for what is delayed or held.

        Raises:
            AssertionError: the tasks go on publishing without an end.
        """
        for _ in range(MOST_ROUNDS):
            if not self.step() and not self._wait():
                return
        raise AssertionError(f"still not drained after {MOST_ROUNDS} rounds: a task publishes without an end")

    def sent(self, name: str) -> list[dict[str, Any]]:
        """Return what was published for the task or event *name* so far, in order: args and kwargs, or the event's fields."""
        return [_content(m) for m in map(codec.decode, self._bodies()) if _name(m) == name]

    def parked(self) -> list[Delivery]:
        """Return the messages that were set aside, with their reasons in `attributes`."""
        return self._queues.waiting(PARKED)

    @property
    def _queues(self) -> Any:
        return self.ports.queues

    def _bodies(self) -> list[str]:
        return [body for queue, body in self._queues.history() if queue not in (RECORDS, PARKED)]

    def _deliver(self, queue: str) -> bool:
        deliveries = self.ports.queues.receive(queue)
        if not deliveries:
            return False
        given_back = {d.message_id for d in self._works[queue](deliveries, self.ports.clock.now() + INVOCATION_S)}
        self.ports.queues.delete([d for d in deliveries if d.message_id not in given_back])
        return True

    def _wait(self) -> bool:
        due = self._queues.next_due([*self._works])
        if due is None:
            return False
        self.ports.clock.sleep(max(0.0, due - self.ports.clock.now()))
        return True


@contextmanager
def world(app: Sedano, *, seed: int = 0, settings: WorkerSettings | None = None) -> Iterator[World]:
    """Bind *app* to a world in memory for the length of the block; `get()` on a result runs the world until it is there.

    Args:
        app: the app under test.
        seed: decides every random choice, so that a failing test fails again.
        settings: the worker's; by default without threads, so that a run is deterministic.
    """
    clock = WaitingClock()
    ports = memory_ports(queues=app.queues, seed=seed, clock=clock)
    app.attach(ports)
    built = World(app, ports, settings or WorkerSettings(lanes=0))
    clock.on_sleep(built.step)
    try:
        yield built
    finally:
        app.attach(None)


def _name(message: object) -> str:
    if isinstance(message, Command):
        return message.task
    return message.name if isinstance(message, Event) else ""


def _content(message: object) -> dict[str, Any]:
    if isinstance(message, Command) and message.task != LAUNCH:
        return {"args": list(message.args), "kwargs": dict(message.kwargs)}
    return dict(message.data) if isinstance(message, Event) else {}
