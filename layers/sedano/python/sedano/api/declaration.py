"""The options of `@app.task(…)`, checked at the declaration, before any message is sent."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from math import isfinite
from typing import Any

from sedano.api.singletons import Singleton, key_of
from sedano.engine.declaration_origins import module_of
from sedano.engine.registry import DELAY, ORDER, Registry
from sedano.errors import OptionError, UnknownOption
from sedano.model.messages.attributes import is_id, is_name
from sedano.model.messages.message import TimeLimits
from sedano.model.queues import DEFAULT_QUEUE, is_fifo
from sedano.model.retry import MAX_EXECUTIONS, NEVER, Retry, policy_of
from sedano.model.tasks.parameters import Parameters
from sedano.model.tasks.signature import DELIVERIES, Delivery
from sedano.model.tasks.task_spec import OnBusy, TaskSpec

ASYNCIO = "asyncio"


@dataclass(frozen=True, slots=True)
class Declaration:
    """The options of one task, as `Sedano.task` describes them."""

    name: str | None = None
    queue: str | None = None
    delivery: Delivery = "claimed"
    retry: Retry | bool | None = None
    ignore_result: bool = False
    keep_arguments: bool = True
    expires: float | None = None
    singleton: Singleton = False
    on_busy: OnBusy = "wait"
    circuit: object = False
    rate: object = None
    burst: object = None
    key: object = None
    per: object = None
    concurrency: object = None
    concurrency_key: object = None
    priority: object = None
    tenant: object = None
    debounce: object = None
    batch: object = None
    serial_key: object = None
    bind: bool = False
    time_limit: float | None = None
    soft_time_limit: float | None = None
    loop: object = ASYNCIO
    sinks: object = None
    on: object = None

    def __post_init__(self) -> None:
        """Refuse an option that cannot be honoured, naming it."""
        if self.delivery not in DELIVERIES:
            raise OptionError(f"delivery: {self.delivery!r} is not one of {', '.join(DELIVERIES)}")
        policy_of(self.retry, NEVER)
        if not isinstance(self.ignore_result, bool):
            raise OptionError(f"ignore_result: {self.ignore_result!r} is neither True nor False")
        if not isinstance(self.keep_arguments, bool):
            raise OptionError(f"keep_arguments: {self.keep_arguments!r} is neither True nor False")
        if not isinstance(self.bind, bool):
            raise OptionError(f"bind: {self.bind!r} is neither True nor False")
        if self.bind and self.batch is not None:
            raise OptionError("bind: a batch of calls is not one running task; leave bind out and use `current()` for the running batch")
        if self.loop != ASYNCIO:
            from sedano.api import loops

            loops.check(self.loop)
        self._check_spans()

    def _check_spans(self) -> None:
        for span in ("expires", "time_limit", "soft_time_limit"):
            given = getattr(self, span)
            if given is not None and not _is_span(given):
                raise OptionError(f"{span}: {given!r} is not a number of seconds above 0")
        if self.time_limit is not None and self.soft_time_limit is not None and self.soft_time_limit >= self.time_limit:
            raise OptionError(f"soft_time_limit: {self.soft_time_limit} is not below time_limit: {self.time_limit}")

    @property
    def limits(self) -> dict[str, Any]:
        """The options of limits that were given; a queue that keeps order requires its key."""
        given = {name: getattr(self, name) for name in LIMITS if getattr(self, name) is not None}
        return {"serial_key": None, **given} if self.queue is not None and is_fifo(self.queue) else given

    @property
    def queue_or_default(self) -> str:
        """The queue that the options name, else the default one."""
        return DEFAULT_QUEUE if self.queue is None else self.queue

    def routed(self, function: Callable[..., Any], registry: Registry) -> Declaration:
        """Return these options of the task of *function*, with a queue by the routes of *registry* if they name none."""
        if self.queue is not None or not registry.routes:
            return self
        return replace(self, queue=registry.queue_of(self.name_for(function)))

    @property
    def needs(self) -> dict[str, str]:
        """The optional ports and the capabilities of queues that the options need, each with its option."""
        counted = [name for name in COUNTED if getattr(self, name) is not None]
        found = {"limits": counted[0]} if counted else {}
        if self.singleton is not False:
            found["leases"] = "singleton"
        if getattr(self.circuit, "shared", False):
            found["memos"] = "circuit"
        if self.serial_key is not None:
            found[ORDER] = "serial_key"
        stepping = [name for name in STEPPING if getattr(self, name) is not None]
        return found | ({DELAY: stepping[0]} if stepping else {})

    def spec(self, function: Callable[..., Any], default: Retry) -> TaskSpec:
        """Return the task of *function* with these options; *default* is the policy of tasks that declare none.

        Raises:
            OptionError: this function cannot be a task.
        """
        if not callable(function):
            raise OptionError(f"a task is a function, not {type(function).__qualname__}; options have names: @app.task(queue=…)")
        name = self.name_for(function)
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise OptionError(f"task {name}: a generator has no single result to record; return a list")
        policy = policy_of(self.retry, default)
        if policy.most_executions > MAX_EXECUTIONS and "serial_key" in self.limits:
            raise OptionError(
                f"retry: max_retries: {policy.max_retries} is above {MAX_EXECUTIONS - 1}, and a queue that keeps order delivers a message "
                f"only 1,000 times; write retry=Retry(max_retries={MAX_EXECUTIONS - 1}) at the task, or less"
            )
        parameters, is_async = Parameters(function, int(self.bind), name), inspect.iscoroutinefunction(function)
        self._refuse_annotations(name, parameters)
        key = key_of(self.singleton, self.on_busy, self.delivery, parameters)
        limits = TimeLimits(self.soft_time_limit, self.time_limit) if self.time_limit or self.soft_time_limit else None
        return TaskSpec(
            name=name, function=self._body(name, function), parameters=parameters, is_async=is_async, delivery=self.delivery, retry=policy,
            ignore_result=self.ignore_result, queue=self.queue_or_default, expires=self.expires, singleton=key, on_busy=self.on_busy,
            time_limits=limits, keep_arguments=self.keep_arguments,
        )  # fmt: skip

    def _body(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function that workers call."""
        if self.loop == ASYNCIO:
            return function
        from sedano.api.loops import under_trio

        return under_trio(name, function)

    def _refuse_annotations(self, name: str, parameters: Parameters) -> None:
        """Raise `OptionError` for an annotation that JSON cannot represent: the body, or the caller, would get another type."""
        if parameters.refusal:
            raise OptionError(f"task {name}: {parameters.refusal}")
        if parameters.returns.refusal and not self.ignore_result:
            raise OptionError(f"task {name}: its result: {parameters.returns.refusal}; or declare ignore_result=True")

    def name_for(self, function: Callable[..., Any]) -> str:
        """Return the task's name in messages; raise `OptionError` if a message cannot carry it."""
        name: object = self.name
        if name is None and getattr(function, "__name__", "") == _LAMBDA:
            raise OptionError("a lambda has no name by which workers could find it; write def, or app.task(name='shop.add')(lambda …)")
        if name is None:
            name = f"{module_of(function)}.{getattr(function, '__qualname__', type(function).__qualname__)}"
        if not isinstance(name, str) or not is_name(name):
            raise OptionError(f"name: {name!r} is not 1 to 256 characters without spaces and control characters")
        return name


LIMITS = (
    "rate", "burst", "key", "per", "concurrency", "concurrency_key", "priority", "tenant", "debounce", "batch", "serial_key",
)  # fmt: skip
"""Options that `sedano.api.limits` reads; only apps that use one load it."""
COUNTED = ("rate", "concurrency", "debounce", "batch")
"""Those of them that the store of limits counts."""
STEPPING = ("rate", "debounce")
"""The options for which the worker sends a call again with a delay."""
OPTIONS = tuple(f.name for f in fields(Declaration))
_LAMBDA = "<lambda>"
LONGEST_APP = 128
"""The longest name of an app: with the host's it is the source of a message."""


def app_name(name: object) -> str:
    """Return the *name* of an app; raise `OptionError` when a message cannot carry it, because every message names its source."""
    if not isinstance(name, str) or not is_id(name) or len(name) > LONGEST_APP:
        raise OptionError(f"name: {name!r:.80} is not 1 to {LONGEST_APP} visible ASCII characters without spaces, such as Sedano('shop')")
    return name


def queue_names(queues: Sequence[str]) -> tuple[str, ...]:
    """Return the names of an app's *queues*; raise `OptionError` if they are not valid, or the first keeps order.

    The first queue also receives the library's own messages: canvases, workflows, elections.
    """
    if isinstance(queues, str):
        raise OptionError(f"queues: {queues!r} is one string; give a tuple of names, ({queues!r},)")
    given: Sequence[object] = queues
    wrong = [name for name in given if not isinstance(name, str) or not is_name(name)]
    if wrong or not queues or len(set(queues)) < len(queues):
        what = "none" if not queues else f"{wrong[0]!r}, which is not a valid name" if wrong else "one twice"
        raise OptionError(f"queues: {queues!r} has {what}; give the names of the queues, such as ('default', 'mail')")
    if is_fifo(queues[0]):
        raise OptionError(f"queues: the first one, {queues[0]!r}, keeps order; put one that keeps none before it, for canvases")
    return tuple(queues)


def declared(options: Mapping[str, Any]) -> Declaration:
    """Return *options* as a declaration; raise `OptionError` for one that is unknown or cannot be honoured."""
    unknown = sorted(set(options) - set(OPTIONS))
    if unknown:
        raise UnknownOption(unknown[0], OPTIONS, "a task")
    return Declaration(**options)


def _is_span(seconds: object) -> bool:
    return isinstance(seconds, int | float) and not isinstance(seconds, bool) and isfinite(seconds) and seconds > 0
