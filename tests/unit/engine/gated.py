"""A gate of the worker alone: jobs, a batch and ports that note their calls, at a virtual time and with one and the same random number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sedano import memory
from sedano.engine.batch import Batch, Job
from sedano.model.deferrals import WAITED, Waited, written
from sedano.model.history.run_rows import Chronicle, Host
from sedano.model.limits.concurrency import Board, BoardChanged, Permit
from sedano.model.messages.message import Command
from sedano.model.tasks.parameters import Parameters
from sedano.model.tasks.task_spec import TaskSpec
from sedano.ports import Delivery, Ports, command_queue

QUEUE = command_queue("default")


class Steady(memory.SeededEntropy):
    """Entropy whose number in [0, 1) is always the same."""

    def __init__(self, unit: float) -> None:
        """Draw *unit* each time."""
        super().__init__()
        self.number = unit

    def unit(self) -> float:
        """Return the number."""
        return self.number


class Noted:
    """Stands for a port and notes what is asked of it."""

    def __init__(self, port: Any) -> None:
        """Pass every call on to *port*."""
        self.port = port
        self.calls: list[tuple[str, tuple[Any, ...]]] = []

    def __getattr__(self, operation: str) -> Any:
        """Return the operation, which notes its call."""
        method = getattr(self.port, operation)

        def called(*args: Any) -> Any:
            self.calls.append((operation, args))
            return method(*args)

        return called if callable(method) else method

    def asked(self, operation: str) -> list[tuple[Any, ...]]:
        """Return the arguments of each call of *operation*."""
        return [args for name, args in self.calls if name == operation]


class FailsOnce:
    """Stands for something one of whose operations raises at its first call."""

    def __init__(self, real: Any, operation: str, error: Exception) -> None:
        """Pass every other call on to *real*."""
        self.real, self.operation, self.errors = real, operation, [error]

    def __getattr__(self, operation: str) -> Any:
        """Return the operation; if it is the one that fails, raise instead of calling it, once."""
        if operation == self.operation and self.errors:
            raise self.errors.pop()
        return getattr(self.real, operation)


class Fickle(memory.MemoryLimits):
    """Limits whose boards other workers change just before each take."""

    def take(self, name: str, permit: Permit, who: str, now: int) -> BoardChanged:
        """Refuse, with a board that has room."""
        return BoardChanged(False, Board(name))


def world(unit: float = 0.25, *noted: str) -> Ports:
    """Return ports in memory; those *noted*, and the queues, note their calls."""
    ports = memory.ports()
    return replace(ports, entropy=Steady(unit), **{name: Noted(getattr(ports, name)) for name in {"queues", *noted}})


def asked(port: Any, operation: str) -> list[tuple[Any, ...]]:
    """Return the arguments of each call of *operation* of a *port* that notes them."""
    assert isinstance(port, Noted)
    return port.asked(operation)


def advance(ports: Ports, seconds: float) -> None:
    """Let time pass."""
    assert isinstance(ports.clock, memory.VirtualClock)
    ports.clock.advance(seconds)


def job(name: str, task: str = "only", receives: int = 1, args: Sequence[Any] = (), attempt: int = 0, **spec: Any) -> Job:
    """Return the job of the message *name* of *task*, which is declared with *spec*."""
    command = Command(name, name, task, "host", 1.0, 1, args=tuple(args), attempt=attempt)
    declared = TaskSpec(task, print, Parameters(lambda *_, **__: None), **spec)
    delivery = Delivery(QUEUE, name, f"receipt-{name}", "{}", receives)
    return Job(delivery, command, declared, received=0.0, received_clock=7, mode=declared.delivery)


def sent_anew(one: Job, times: int) -> Job:
    """Return *one* as the job of a message that has waited so many *times*, and was sent anew each time."""
    return one._replace(delivery=one.delivery._replace(attributes={WAITED: written(Waited(times))}))


def batch(ports: Ports, seconds: float = 10.0) -> Batch:
    """Return an invocation that ends in so many *seconds*."""
    return Batch(ports.clock.now() + seconds, Chronicle(Host("host", 1)))


def names(jobs: Sequence[Job]) -> list[str]:
    """Return the messages of *jobs*."""
    return [one.delivery.message_id for one in jobs]


def waits(found: Batch) -> dict[str, float | None]:
    """Return for how long each message is deferred."""
    return {name: one.seconds for name, one in found.deferred.items()}


def told(found: Batch) -> list[tuple[Any, ...]]:
    """Return what the history says of each held task: its id, the reason, and until when."""
    return [(line["uuid"], line["reason"], line["until"]) for line in found.chronicle.lines if line["type"] == "task-held"]
