"""A declared task: its function and its options, which the decorators of the app collect."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from sedano.errors import ArgumentError
from sedano.model.messages.attributes import LONGEST_TENANT, is_tenant
from sedano.model.messages.message import COLLECT, ELECT, LAUNCH, PACK, Command, TimeLimits
from sedano.model.retry import DEFAULT, MAX_EXECUTIONS, Retry
from sedano.model.tasks.parameters import Parameters
from sedano.model.tasks.signature import Delivery

if TYPE_CHECKING:
    from sedano.model.circuits import Breaker
    from sedano.model.limits.task_limits import Key, TaskLimits

OnBusy = Literal["wait", "drop", "raise"]
BUILT_IN = frozenset({LAUNCH, COLLECT, ELECT, PACK})
"""The names of the library's own tasks, which every app has."""


def alone(args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """Return the single key of a task that has one run at a time for all arguments, without reading the arguments."""
    return ""


class TaskSpec(NamedTuple):
    """One task: its function, delivery, retry policy and results. *expires*: seconds after publication.

    *singleton* returns the key within which one run is allowed at a time; *on_busy*: the behaviour of further calls. *circuit*: the rule
    for pauses after failures. *limits*: its rate and concurrency limits; *tenant*: returns the tenant of a call from its arguments.
    *time_limits*: how long its body may run. *serial_key*: returns, from the arguments, the key within which order is kept; its queue keeps
    order. *keep_arguments*: whether the call of an unsuccessful run is kept (`sedano.engine.reruns`). *is_document*: each result is
    published as a document. *failure_metric*: a metric that counts its failures, beside `TasksFailed`. *applies*: of a map, the task that
    its arguments name. *band*: the band of its *queue*, if it is declared with a priority.
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
    is_document: bool = False
    failure_metric: str = ""
    applies: Callable[[Sequence[Any], Mapping[str, Any]], TaskSpec | None] | None = None
    band: str = ""

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
        """Return the delivery of *command*. A member of a join always leaves a record, because the join's body needs its result."""
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
        return f"{task.name} is delivered {task.delivery}; only the earlier attempts of claimed tasks are known"
    if task.retry.most_executions > MAX_EXECUTIONS:
        return f"{task.name} is retried more than {MAX_EXECUTIONS - 1} times, and a queue that keeps order delivers a message 1,000 times"
    limits = task.limits
    if limits is not None and (limits.paces or limits.debounce or limits.batch or limits.runs):
        return f"{task.name} has a rate, a debounce or a batch, which would change the order of its calls"
    return f"{task.name} is a task of the library, which does not keep order" if task.name in BUILT_IN else ""


def apart(task: TaskSpec) -> str:
    """Return why each call of *task* needs its own message; empty if many may share one, as in a map."""
    limits = "a limit (rate, concurrency, debounce, batch)"
    named = {
        "serial_key": task.serial_key, "singleton": task.singleton, "circuit": task.circuit, limits: task.limits,
        "sinks or subscribers of its documents": task.is_document or None,
    }  # fmt: skip
    found = next((name for name, given in named.items() if given is not None), None)
    return f"{task.name} is declared with {found}, which applies to each message, and a map's calls share one" if found else ""
