"""`app.control.inspect()`: a view of the cluster with Celery's names. Nothing is broadcast: everything is read from the stores.

    app.control.inspect().active()       # {"worker name": [the tasks that it runs]}
    app.control.inspect().circuits()     # open circuits, with the time and the reason
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from sedano.api.timers import Scheduled, ScheduledTask
from sedano.engine.cluster.control import active_tasks, members
from sedano.engine.publisher.publisher import Outlet
from sedano.engine.registry import Registry
from sedano.errors import ConfigurationError
from sedano.errors.hints import Hinting
from sedano.model import circuits as breaker
from sedano.model.budgets import Load
from sedano.model.cluster.members import ActiveTask
from sedano.model.memos import CIRCUIT, memo_name
from sedano.ports import command_queue


class Inspects(Protocol):
    """The part of an app that inspection and the control panel need."""

    @property
    def outlet(self) -> Outlet:
        """The publisher."""

    @property
    def queues(self) -> Sequence[str]:
        """The names of its command queues."""

    @property
    def registry(self) -> Registry:
        """Its tasks, checks and circuits."""


class CircuitView(NamedTuple):
    """The state of a circuit: whether it is *open*, *since* when, *until* when (epoch s), the *cause*, and the *tasks* that it guards.

    If *shared* is False, each worker has its own state in memory; it appears in the worker's log and in the history, not here.
    """

    name: str
    tasks: tuple[str, ...]
    shared: bool
    open: bool = False
    since: float = 0.0
    until: float = 0.0
    cause: str = ""


class Inspect(Hinting):
    """A view of the cluster; each method reads the stores again."""

    def __init__(self, app: Inspects) -> None:
        """Inspect the deployment of *app*."""
        self._app = app

    def active(self) -> Mapping[str, list[ActiveTask]]:
        """Return the tasks that each live worker runs (claimed and not ended), by worker, the longest running first.

        They are read from the last heartbeats, which name the tasks that their workers had then, and from the ledger, which says which of
        these run still. So a task that began since the heartbeat (`ActiveTask.seen`, at most a minute ago while its worker is invoked) is
        missing, and so are tasks without a claim (`delivery`).
        """
        return active_tasks(self._app.outlet.ports)

    def scheduled(self) -> list[ScheduledTask]:
        """Return the tasks that are due in more than 900 s, the next to run first."""
        return [*Scheduled(self._app.outlet.ports)]

    def reserved(self) -> Mapping[str, int]:
        """Return for each queue how many messages were received and not deleted: a worker has them, or they become visible again later.
        Approximate."""
        return {queue: load.running for queue, load in self._loads().items()}

    def registered(self) -> list[str]:
        """Return the names of the tasks that this app declares."""
        return sorted(name for name in self._app.registry.tasks if not name.startswith("sedano."))

    def stats(self) -> Mapping[str, Any]:
        """Return by queue how many messages wait and are in flight, and by worker its state and its last heartbeat (epoch s)."""
        workers = {m.name: {"state": m.state, "seen": m.seen, "holds": len(m.holds)} for m in members(self._app.outlet.ports)}
        return {"queues": {queue: load._asdict() for queue, load in self._loads().items()}, "workers": workers}

    def circuits(self) -> list[CircuitView]:
        """Return the circuits that tasks of this app declare, by name."""
        ports, guarded = self._app.outlet.ports, dict[str, list[str]]()
        breakers = {task.circuit.name: task.circuit for task in self._app.registry.tasks.values() if task.circuit is not None}
        for task in self._app.registry.tasks.values():
            if task.circuit is not None:
                guarded.setdefault(task.circuit.name, []).append(task.name)
        shared = [memo_name(CIRCUIT, name) for name, one in breakers.items() if one.shared]
        kept = ports.memos.read(shared) if shared else {}
        now = ports.clock.now()
        found = []
        for name, one in sorted(breakers.items()):
            view = CircuitView(name, tuple(sorted(guarded[name])), one.shared)
            memo = kept.get(memo_name(CIRCUIT, name))
            if memo is not None:
                circuit = breaker.from_text(memo.text)
                view = view._replace(open=circuit.is_open(now), since=circuit.since, until=circuit.until, cause=circuit.cause)
            found.append(view)
        return found

    def limits(self) -> Mapping[str, int]:
        """Return how many invocations each queue may have at once, for queues with a limit."""
        found = {}
        for queue in self._app.queues:
            try:
                limit = self._app.outlet.ports.consumers.limit(command_queue(queue))
            except ConfigurationError:
                continue
            if limit is not None:
                found[queue] = limit
        return found

    def paused(self) -> frozenset[str]:
        """Return the pauses, as strings such as ``mail`` (a queue) and ``task=shop.charge``."""
        return self._app.outlet.ports.control.read().paused

    def _loads(self) -> Mapping[str, Load]:
        consumers = self._app.outlet.ports.consumers
        return {queue: consumers.load(command_queue(queue)) for queue in self._app.queues}
