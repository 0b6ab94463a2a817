"""The state of the cluster from its events as they arrive: tasks by time, by worker, by type; workers that are alive. Pure.

This is the `State` of Celery's monitor, over the same registers that Spark folds (`sedano.model.history.registers`), so the live view and
the history cannot disagree. Events may arrive late, twice and in any order; two states with the same events are equal, whatever the order.
A worker is the register of the last event about it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from sedano.model.cluster.members import HEARTBEAT, OFFLINE, ONLINE, WORKER_LOST
from sedano.model.history.event_order import Stamp, stamp
from sedano.model.history.registers import Registers, Timeline, finalise, join, lift

SAID_OF_WORKERS = frozenset({ONLINE, HEARTBEAT, OFFLINE, WORKER_LOST})


class LiveState:
    """The known state of a cluster. `event` and `merge` may be called in any order."""

    __slots__ = ("tasks", "workers")

    def __init__(self) -> None:
        """Start without events."""

        self.tasks: dict[str, Registers] = {}
        self.workers: dict[str, Stamp] = {}

    def event(self, event: object) -> None:
        """Add one event (decoded JSON); an event that is not about a task or a worker is ignored.

        Raises:
            ValueError: the event is not an object, or lacks a field of the total order; the message names the field.
        """
        if not isinstance(event, dict):
            raise ValueError(f"an event is an object, not {type(event).__name__}")  # noqa: TRY004 - the same error for every invalid event
        if str(event.get("type")) in SAID_OF_WORKERS:
            self._said(stamp({"uuid": "", **event}))
            return
        lifted = lift(event)
        if lifted is not None:
            self._learn(lifted)

    def events(self, events: Iterable[Mapping[str, Any]]) -> LiveState:
        """Add *events* and return this state."""
        for event in events:
            self.event(event)
        return self

    def merge(self, other: LiveState) -> None:
        """Add all events of *other*."""
        for registers in other.tasks.values():
            self._learn(registers)
        for at in other.workers.values():
            self._said(at)

    def tasks_by_time(self, limit: int | None = None) -> list[Timeline]:
        """Return the tasks, the one with the latest event first; *limit*: the most tasks to return."""
        return [finalise(registers) for registers in sorted(self.tasks.values(), key=_last, reverse=True)[:limit]]

    def tasks_by_worker(self, hostname: str, limit: int | None = None) -> list[Timeline]:
        """Return the tasks whose last worker is *hostname*, the latest first."""
        return [task for task in self.tasks_by_time() if task.worker == hostname][:limit]

    def tasks_by_type(self, name: str, limit: int | None = None) -> list[Timeline]:
        """Return the tasks named *name*, the latest first."""
        return [task for task in self.tasks_by_time() if task.fields["name"] == name][:limit]

    def task_types(self) -> list[str]:
        """Return the names of the known tasks."""
        return sorted({name for registers in self.tasks.values() if isinstance(name := finalise(registers).fields["name"], str)})

    def states(self) -> Counter[str]:
        """Return how many tasks are in each state."""
        return Counter(finalise(registers).state for registers in self.tasks.values())

    def alive_workers(self) -> list[str]:
        """Return the workers that joined and did not leave. A worker without recent events may still be alive
        (`sedano.model.cluster.members`).
        """
        return sorted(name for name, at in self.workers.items() if at.type in (ONLINE, HEARTBEAT))

    def _learn(self, registers: Registers) -> None:
        known = self.tasks.get(registers.uuid)
        self.tasks[registers.uuid] = registers if known is None else join(known, registers)

    def _said(self, at: Stamp) -> None:
        self.workers[at.hostname] = max(at, self.workers.get(at.hostname, at))


def _last(registers: Registers) -> Stamp:
    return max(registers.last.values())
