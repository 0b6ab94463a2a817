"""The call and the options of a schedule, checked at `@app.periodic(…)` and at `app.schedules.add(…)`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from sedano.engine.declaration_origins import may_declare
from sedano.engine.publisher.publisher import Outlet
from sedano.engine.registry import Registry
from sedano.errors import ArgumentError, OptionError, TooLarge
from sedano.model.messages import codec, stamps
from sedano.model.order import unordered
from sedano.model.queues import is_fifo
from sedano.model.schedules.agenda import MOST_CALL_BYTES, Periodic, ScheduledCall, declaration
from sedano.model.schedules.schedule import Schedule, State
from sedano.model.schedules.timetable import At, Cron, Every, Timetable
from sedano.model.tasks.signature import NO_OPTIONS, Options, Signature, given
from sedano.task import Task

_HONOURED = {"queue", "expires", "ignore_result", "tenant", "stamps"}
_SOME_MOMENT = "2026-01-01T00:00:00Z"


class PeriodicOptions(NamedTuple):
    """How occurrences of one schedule are published; see `sedano.api.periodic.PeriodicTasks.periodic`."""

    jitter: int = 0
    misfire_grace: int | None = None
    coalesce: bool = True
    max_instances: int | None = None
    moment: str | None = None


class ScheduleApp(Protocol):
    """The part of an app that schedules need."""

    name: str
    queues: tuple[str, ...]
    registry: Registry

    @property
    def periodics(self) -> dict[str, Periodic]:
        """The declared periodic tasks."""

    @property
    def outlet(self) -> Outlet:
        """The publisher."""

    @property
    def task(self) -> Callable[..., Any]:
        """Declare a task."""


def declare(
    app: ScheduleApp, function: Any, timetable: Timetable, name: str | None, arguments: tuple[Any, Any],
    asked: tuple[int, int | None, bool, int | None, str | None], options: Mapping[str, Any],
) -> Task[Any, Any]:  # fmt: skip
    """Add a periodic task to the declarations of *app*; see `Sedano.periodic`."""
    if isinstance(function, Task) and options:
        raise OptionError(f"{next(iter(options))}: write options of the task in @app.task(…) below, and those of the schedule here")
    task: Task[Any, Any] = function if isinstance(function, Task) else app.task(**options)(function)
    found = periodic_of(app, name or task.name, timetable, Signature(task.name, *given(*arguments)), PeriodicOptions(*asked))
    if not may_declare(app.registry, f"schedule {found.schedule.name}", task.name, found.schedule.name in app.periodics):
        raise OptionError(f"schedule: {found.schedule.name!r} is declared twice; give one of them another name: schedule='…'")
    app.registry.need("schedules", f"the periodic task {found.schedule.name!r}")
    app.periodics[found.schedule.name] = declaration(found.schedule, found.call)
    return task


def periodic_of(app: ScheduleApp, name: str, timetable: Timetable, signature: Signature, asked: PeriodicOptions) -> Periodic:
    """Return the periodic task *name* as it is stored, checked if this app declares its task; its state is empty."""
    kinds: tuple[type, ...] = (Cron, Every, At)
    if not isinstance(timetable, kinds):
        raise OptionError(f"timetable: expected cron(…), every(…) or at(…), got {type(timetable).__name__}")
    schedule = Schedule(
        name=name, timetable=timetable, jitter=asked.jitter, misfire_grace=asked.misfire_grace, coalesce=asked.coalesce, paused=False,
        max_instances=asked.max_instances,
    ).checked()
    return Periodic(schedule, _call(app, signature, asked), State(0))


def _call(app: ScheduleApp, signature: Signature, asked: PeriodicOptions) -> ScheduledCall:
    """Return the call of each occurrence, made from *signature* and checked if this app declares its task."""
    options, spec = signature.options, app.registry.tasks.get(signature.task)
    _refuse(options)
    args, kwargs = given(signature.args, signature.kwargs)
    if spec is not None:
        if asked.moment is not None and asked.moment not in spec.parameters.signature.parameters:
            raise ArgumentError("moment", f"task {spec.name} has no parameter {asked.moment!r}")
        spec.parameters.fit(args, {**kwargs, asked.moment: _SOME_MOMENT} if asked.moment is not None else kwargs)
        if asked.max_instances is not None and (spec.delivery == "at_least_once" or (spec.limits is not None and spec.limits.batch)):
            why = "is delivered at_least_once" if spec.delivery == "at_least_once" else "runs many calls as one (batch)"
            raise OptionError(f"max_instances: the task {spec.name} {why} and keeps no record of each; leave it out")
    queue = options.queue or (spec.queue if spec is not None else app.queues[0])
    if queue not in app.queues:
        raise OptionError(f"queue: {queue!r} is not one of this app's queues {app.queues}; add it to Sedano(queues=…)")
    if is_fifo(queue):
        raise unordered("a schedule publishes the periodic task", queue)
    data = codec.encode_data(args, kwargs).decode()
    if len(data) > MOST_CALL_BYTES:
        raise TooLarge(f"arguments: {len(data)} bytes are more than {MOST_CALL_BYTES}; store them elsewhere and pass a key")
    expires = options.expires if options.expires is not None else (spec.expires if spec is not None else None)
    ignore = options.ignore_result if options.ignore_result is not None else spec is not None and spec.ignore_result
    written = stamps.write(options.stamps) if options.stamps else None
    seconds = float(expires) if isinstance(expires, int | float) else None
    tenant = options.tenant or (spec.tenant_of(args, kwargs) if spec is not None else None)
    return ScheduledCall(
        task=signature.task, queue=queue, data=data, expires=seconds, ignore_result=ignore, tenant=tenant, stamps=written,
        moment=asked.moment,
    )  # fmt: skip


def _refuse(options: Options) -> None:
    named = [name for name in Options.__dataclass_fields__ if getattr(options, name) != getattr(NO_OPTIONS, name)]
    wrong = next((name for name in named if name not in _HONOURED), None)
    if wrong is not None:
        raise OptionError(f"{wrong}: has no meaning for a periodic task; its options are {', '.join(sorted(_HONOURED))}")
    if isinstance(options.expires, datetime):
        raise OptionError("expires: a moment has no meaning for a periodic task; give seconds, counted from each of its moments")
    if options.expires is not None and options.expires <= 0:
        raise OptionError(f"expires: {options.expires} is not a number of seconds above 0")
