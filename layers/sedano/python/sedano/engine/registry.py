"""The declarations of this deployment: the tasks by name and the subscribers of each event. A name in a message is only used as a key into
it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sedano.engine.built_in_tasks import BUILT_IN_TASKS
from sedano.errors import QueueUnfit
from sedano.model.queues import DEFAULT_QUEUE
from sedano.model.tasks.task_spec import TaskSpec
from sedano.ports.absent import require

if TYPE_CHECKING:
    from sedano.engine.configuration import Configuration
    from sedano.engine.health import RegisteredCheck
    from sedano.model.boot import DeclaredStep
    from sedano.model.budgets import Budget, Strategy
    from sedano.model.cluster.controller import QueueBudget
    from sedano.model.priority import Strategy as Preference
    from sedano.ports import Ports

ORDER, DELAY = "order", "delay"
"""Needs of an app besides the optional ports: queues that keep order, and queues that can delay a message."""


@dataclass(slots=True)
class Registry:
    """The tasks by name, the subscriptions by event name, the tasks that must run on an election's winner (*led*), the health checks by
    name, the budgets by queue, those of the threads and the coroutines of each worker, and which tasks of a batch begin first
    (*prefer*). *tables*: the names of their keys, for effects. *documents*: the tasks that receive each document, by the document's
    name. *kinds*: the kinds of documents that the app declares. *sinks*: the names of the sinks. *boot* and *services*: what a worker
    process starts before its first task. *origins*: where each name was declared (`sedano.engine.declaration_origins`). *needs*: the
    optional ports that the app needs, and `ORDER` or `DELAY` of the queues, each with what needs it. *bound*: the ports that the app is
    connected to. *boxes*: ends the programs of each box, by the task's name, when the app is unbound. *configuration*: that of the
    application. *hooks*: functions of the user beside each task, by their occasion. *spending*: the limits of a day's spending in
    nanodollars, by tenant; an empty tenant is the whole app. *routes*: queues by the patterns of the names of tasks that name none.
    *raises*: the classes of exceptions that are raised again where a result is read, by their names.

    Filled while the user's module is imported, then only read.
    """

    tasks: dict[str, TaskSpec] = field(default_factory=lambda: dict(BUILT_IN_TASKS))
    subscriptions: dict[str, list[str]] = field(default_factory=dict)
    led: set[str] = field(default_factory=set)
    checks: dict[str, RegisteredCheck] = field(default_factory=dict)
    budgets: dict[str, QueueBudget] = field(default_factory=dict)
    threads: tuple[Budget, Strategy] | None = None
    coroutines: tuple[Budget, Strategy] | None = None
    prefer: Preference | None = None
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    documents: dict[str, list[str]] = field(default_factory=dict)
    kinds: set[str] = field(default_factory=set)
    sinks: set[str] = field(default_factory=set)
    boot: dict[str, DeclaredStep] = field(default_factory=dict)
    services: dict[str, Callable[[], Coroutine[Any, Any, Any]]] = field(default_factory=dict)
    origins: dict[str, Any] = field(default_factory=dict)
    needs: dict[str, str] = field(default_factory=dict)
    bound: Ports | None = None
    boxes: dict[str, Callable[[], None]] = field(default_factory=dict)
    configuration: Configuration[Any] | None = None
    hooks: dict[str, list[Callable[..., Any]]] = field(default_factory=dict)
    spending: dict[str, int] = field(default_factory=dict)
    routes: Mapping[str, str] = field(default_factory=dict)
    raises: Mapping[str, type[Exception]] = field(default_factory=dict)

    def queue_of(self, name: str) -> str:
        """Return the queue of the task *name*, which names none: that of the first route that matches, else the default one."""
        if not self.routes:
            return DEFAULT_QUEUE
        from sedano.model.routes import queue_for

        return queue_for(self.routes, name) or DEFAULT_QUEUE

    def need(self, what: str, user: str) -> None:
        """Note that *user*, a declaration of the app, needs *what*: an optional port, or a capability of the queues.

        Raises:
            PortMissing: the app is connected to a deployment without that port.
            QueueUnfit: the queues of that deployment lack the capability.
        """
        if self.bound is not None:
            require_of(self.bound, what, user)
        self.needs.setdefault(what, user)

    def of_batches(self, concurrency: int) -> tuple[str, ...]:
        """Return the declarations about the messages that one worker has at once, as in code; a lane of `sedano worker` has one message.

        *concurrency*: the app's own number of `def` bodies at once in a worker.
        """
        declared = {
            "app.threads(…)": self.threads is not None,
            "app.coroutines(…)": self.coroutines is not None,
            "app.prefer(…)": self.prefer is not None,
            "WorkerSettings(concurrency=…)": concurrency > 1,
        }
        return tuple(words for words, is_declared in declared.items() if is_declared)

    def begin(self, ports: Ports) -> None:
        """Check that *ports* have what the app needs, and read its configuration; a worker does this before it receives anything.

        Raises:
            PortMissing: they lack a port.
            QueueUnfit: their queues cannot do it.
            ConfigurationError: the configuration is not valid.
        """
        self.check(ports)
        if self.configuration is not None:
            self.configuration.begin(ports)

    def check(self, ports: Ports) -> None:
        """Check that *ports* have what the app needs.

        Raises:
            PortMissing: they lack a port.
            QueueUnfit: their queues cannot do it.
        """
        for what, user in self.needs.items():
            require_of(ports, what, user)

    def bind(self, ports: Ports | None) -> None:
        """Connect the app to *ports*, or to none, which ends the programs of its boxes; raises what `check` raises."""
        if ports is not None:
            self.check(ports)
        else:
            for close in self.boxes.values():
                close()
            if self.configuration is not None:
                self.configuration.forget()
        self.bound = ports


def require_of(ports: Ports, need: str, user: str) -> None:
    """Raise where *ports* lack the *need* of *user*: an optional port by its name, or `ORDER` or `DELAY` of the queues.

    Raises:
        PortMissing: the port is absent.
        QueueUnfit: the queues cannot do it.
    """
    if need == ORDER:
        if not ports.queues.bounds.ordered:
            raise QueueUnfit("keep no order", "bounds.ordered", user)
    elif need == DELAY:
        if not ports.queues.bounds.max_delay:
            raise QueueUnfit("cannot delay a message", "a bounds.max_delay above 0", user)
    else:
        require(getattr(ports, need), user)
