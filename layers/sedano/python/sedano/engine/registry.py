"""The declarations of this deployment: the tasks by name and the subscribers of each event. A name in a message is only used as a key into
it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from sedano.engine.context import CURRENT
from sedano.errors import ArgumentError, QueueUnfit
from sedano.model.messages.attributes import LONGEST_TENANT, is_tenant
from sedano.model.messages.message import COLLECT, ELECT, LAUNCH, Command, TimeLimits
from sedano.model.retry import DEFAULT, Retry
from sedano.model.tasks.parameters import Parameters
from sedano.model.tasks.signature import Delivery
from sedano.ports.absent import require

if TYPE_CHECKING:
    from sedano.engine.configuration import Configuration
    from sedano.engine.health import RegisteredCheck
    from sedano.model.boot import DeclaredStep
    from sedano.model.budgets import Budget, Strategy
    from sedano.model.circuits import Breaker
    from sedano.model.cluster.controller import QueueBudget
    from sedano.model.limits.task_limits import Key, TaskLimits
    from sedano.model.priority import Strategy as Preference
    from sedano.ports import Ports

OnBusy = Literal["wait", "drop", "raise"]
ORDER, DELAY = "order", "delay"
"""Needs of an app besides the optional ports: queues that keep order, and queues that can delay a message."""


def alone(args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """Return the single key of a task that has one run at a time for all arguments, which are not even fetched."""
    return ""


class TaskSpec(NamedTuple):
    """One task: its function, delivery, retry policy and results. *expires*: seconds after publication.

    *singleton* returns the key that has one run at a time; *on_busy*: what the others do. *circuit*: the rule of its pauses after failures.
    *limits*: how often and how many at a time; *tenant*: the tenant of a call, by its arguments. *time_limits*: how long its body may run.
    *serial_key*: the key within which order is kept, by its arguments; its queue keeps order. *keep_arguments*: whether the call of a
            run without success is kept (`sedano.engine.reruns`).
    """

    name: str
    function: Callable[..., Any]
    parameters: Parameters
    is_async: bool = False
    delivery: Delivery = "claimed"
    retry: Retry = DEFAULT
    ignore_result: bool = False
    queue: str = "default"
    expires: float | None = None
    singleton: Callable[[Sequence[Any], Mapping[str, Any]], str] | None = None
    on_busy: OnBusy = "wait"
    circuit: Breaker | None = None
    limits: TaskLimits | None = None
    tenant: Key | None = None
    time_limits: TimeLimits | None = None
    serial_key: Key | None = None
    keep_arguments: bool = True

    def tenant_of(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str | None:
        """Return the tenant of a call with these arguments, if the task declares how to find it.

        Raises:
            ArgumentError: the arguments have no tenant, or a message cannot carry the value.
        """
        try:
            found = (self.tenant(args, kwargs) or None) if self.tenant is not None else None
        except Exception as lacking:
            raise ArgumentError("tenant", f"{type(lacking).__name__}: {lacking}") from lacking
        if found is not None and not is_tenant(found):
            raise ArgumentError("tenant", f"{found[:40]!r} is not a string of 1 to {LONGEST_TENANT} visible ASCII characters")
        return found

    def mode(self, command: Command) -> Delivery:
        """Return how *command* is delivered: a member of a join always leaves a record, since the join's body needs its result."""
        delivery = self.delivery
        if delivery == "at_least_once" and (command.member is not None or self.keeps(command)):
            return "record_once"
        return delivery

    def keeps(self, command: Command) -> bool:
        """Return whether *command* keeps a result: by its own option, else by the task's declaration."""
        return not (self.ignore_result if command.ignore_result is None else command.ignore_result)


def hindrance(task: TaskSpec) -> str:
    """Return why *task* cannot run in order, even on a queue that keeps order; empty if it can."""
    if task.delivery != "claimed":
        return f"{task.name} is delivered {task.delivery}: earlier attempts are known of claimed tasks only"
    limits = task.limits
    if limits is not None and (limits.paces or limits.debounce or limits.batch or limits.runs):
        return f"{task.name} has a rate, a debounce or a batch, for which its calls would leave their order"
    return f"{task.name} is the library's own and knows no order" if task.name in BUILT_IN else ""


def apart(task: TaskSpec) -> str:
    """Return why each call of *task* needs its own message; empty if many may share one, as in a map."""
    limits = "a limit (rate, concurrency, debounce, batch)"
    named = {"serial_key": task.serial_key, "singleton": task.singleton, "circuit": task.circuit, limits: task.limits}
    found = next((name for name, given in named.items() if given is not None), None)
    return f"{task.name} is declared with {found}, which applies to each message, and a map's calls share one" if found else ""


def _launched(*_: Any, **__: Any) -> None:
    """Do nothing: the effects of a launch are its follow-ups."""


def _collected(results: Any = None) -> Any:
    """Return the results of a group: the list as the result of one task."""
    return results


def _elect(election_id: str, last: bool, *about: Any) -> None:
    """Let the worker that runs this open an election, or take part in one."""
    context = CURRENT.get()
    if context is not None and context.vote is not None:
        context.vote(context, election_id, last, about)


LAUNCH_TASK = TaskSpec(LAUNCH, _launched, Parameters(_launched))
ELECT_TASK = TaskSpec(ELECT, _elect, Parameters(_elect), retry=Retry(max_retries=15), ignore_result=True)
COLLECT_TASK = TaskSpec(COLLECT, _collected, Parameters(_collected))
BUILT_IN = {LAUNCH: LAUNCH_TASK, COLLECT: COLLECT_TASK, ELECT: ELECT_TASK}


class WorkerSettings(NamedTuple):
    """The settings of a worker.

    *concurrency*: `def` bodies at once (1: inline); *lanes*: outcomes recorded at once while bodies run (0: none, on the caller's
    thread); *window*: message ids remembered by the idempotent receiver; *guard*: seconds before the deadline after which nothing is
    started; *poison_after*: claims of one attempt, or receives of an unclaimed message, that end without a record; *heartbeat*: seconds
    between membership writes, and between looks at pauses, revocations and limits; *visibility*: seconds for which the queue hides a
    received message, where bodies may take longer: claims and visibilities are extended then, up to the deadline of `Worker.work`
    (`engine.worker.claim_extension`). None: the queue hides messages until that deadline, as on Lambda, and nothing is extended;
    *unsigned_inbox*: whether commands without a seal are obeyed, which is logged as a warning at each start.
    """

    concurrency: int = 1
    lanes: int = 4
    window: int = 100
    guard: float = 1.0
    poison_after: int = 5
    heartbeat: float = 60.0
    visibility: float | None = None
    unsigned_inbox: bool = False


@dataclass(slots=True)
class Registry:
    """The tasks by name, the subscriptions by event name, the tasks that must run on an election's winner (*led*), the health
    checks by name, the budgets by queue, those of the threads and the coroutines of each worker, and which tasks of a batch begin first
    (*prefer*). *tables*: the names of their keys, for effects.
    *boot* and *services*: what a worker process starts before its first task. *origins*: where each name was declared
    (`sedano.engine.declaration_origins`). *needs*: the optional ports that the app needs, and `ORDER` or `DELAY` of the queues, each with
    what needs it. *bound*: the ports that the app is connected to. *boxes*: ends the programs of each box, by the task's name, when the app
    is unbound. *configuration*: that of the application. *hooks*: functions of the user beside each task, by their occasion.

    Filled while the user's module is imported, then only read.
    """

    tasks: dict[str, TaskSpec] = field(default_factory=lambda: dict(BUILT_IN))
    subscriptions: dict[str, list[str]] = field(default_factory=dict)
    led: set[str] = field(default_factory=set)
    checks: dict[str, RegisteredCheck] = field(default_factory=dict)
    budgets: dict[str, QueueBudget] = field(default_factory=dict)
    threads: tuple[Budget, Strategy] | None = None
    coroutines: tuple[Budget, Strategy] | None = None
    prefer: Preference | None = None
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    boot: dict[str, DeclaredStep] = field(default_factory=dict)
    services: dict[str, Callable[[], Coroutine[Any, Any, Any]]] = field(default_factory=dict)
    origins: dict[str, Any] = field(default_factory=dict)
    needs: dict[str, str] = field(default_factory=dict)
    bound: Ports | None = None
    boxes: dict[str, Callable[[], None]] = field(default_factory=dict)
    configuration: Configuration[Any] | None = None
    hooks: dict[str, list[Callable[..., Any]]] = field(default_factory=dict)

    def need(self, what: str, user: str) -> None:
        """Note that *user*, a declaration of the app, needs *what*: an optional port, or a capability of the queues.

        Raises:
            PortMissing: the app is connected to a deployment without that port.
            QueueUnfit: the queues of that deployment lack the capability.
        """
        if self.bound is not None:
            require_of(self.bound, what, user)
        self.needs.setdefault(what, user)

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
