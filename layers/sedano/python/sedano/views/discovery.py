"""The declarations of an app as one record, from which its deployment is derived. Only the app is read; no connection is made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from sedano.app import AWS, Sedano
from sedano.model.messages.message import NOTHING
from sedano.model.tasks.signature import Delivery
from sedano.model.tasks.task_spec import TaskSpec

OWN = "sedano."
"""The prefix of the names of the library's own tasks."""


class DiscoveredTask(NamedTuple):
    """One task: its queue, how it is delivered, whether a result is kept, and its time limits in seconds (None: no limit).

    *rate_per_worker*: each worker counts its rate alone.
    """

    queue: str
    delivery: Delivery
    keeps_result: bool
    time_limit: float | None = None
    soft_time_limit: float | None = None
    rate_per_worker: bool = False


class Discovered(NamedTuple):
    """An app: its name, its command queues, its tasks by name, the subscribers of each event, and its schedules with their tasks.

    *tended*: the app needs a controller, because a queue has a budget, a health check is shared, or spending has a limit. *webhooks*:
    their names, each with whether its requests are signed. *streams*: their names, each with the tasks that read it and the operations
    that each of them reads (empty: all). *formats*: the formats of the messages of those streams that are read from a queue and whose
    declaration names one. *connect*: the factory of its ports, unless it is the library's own. *worker*: the settings of its workers, if it
    declares any. *layers*: those of its configuration, the one that takes precedence first. *budgets*: the queues whose invocations have a
    budget. *of_batches*: the declarations about the batch of an invocation, as in code. *sinks*: their names. *spending*: the tenants with
    a spending limit; an empty name is the whole app. *polls*: their names, each with the names of the parameters that it reads.

    Everything is sorted by name, so the record does not depend on the order of the declarations.
    """

    name: str
    queues: tuple[str, ...]
    tasks: Mapping[str, DiscoveredTask]
    subscriptions: Mapping[str, tuple[str, ...]]
    schedules: Mapping[str, str]
    tended: bool = False
    webhooks: Mapping[str, bool] = NOTHING
    streams: Mapping[str, Mapping[str, tuple[str, ...]]] = NOTHING
    formats: Mapping[str, str] = NOTHING
    connect: str = ""
    worker: Mapping[str, float] = NOTHING
    layers: tuple[str, ...] = ()
    budgets: tuple[str, ...] = ()
    of_batches: tuple[str, ...] = ()
    sinks: tuple[str, ...] = ()
    spending: tuple[str, ...] = ()
    polls: Mapping[str, tuple[str, ...]] = NOTHING


def discovered(app: Sedano) -> Discovered:
    """Return the declarations of *app* without the library's own tasks. They are complete once the user's modules are imported."""
    registry = app.registry
    own = [name for name in registry.tasks if not name.startswith(OWN)]
    return Discovered(
        name=app.name, queues=tuple(sorted(app.queues)), tasks={name: _task(registry.tasks[name]) for name in sorted(own)},
        subscriptions={event: _in_order(registry.subscriptions[event]) for event in sorted(registry.subscriptions)},
        schedules={name: app.periodics[name].call.task for name in sorted(app.periodics)},
        tended=bool(registry.budgets or registry.spending) or any(check.spec.shared for check in registry.checks.values()),
        webhooks={name: app.webhooks[name].scheme.signs for name in sorted(app.webhooks)},
        streams={name: {task: app.streams[name][task] for task in sorted(app.streams[name])} for name in sorted(app.streams)},
        formats={name: app.formats[name] for name in sorted(app.formats)},
        connect=app.connect if app.connect != AWS else "", worker=app.worker._asdict() if app.worker is not None else {},
        layers=() if registry.configuration is None else tuple(map(str, registry.configuration.layers)),
        budgets=_in_order(registry.budgets), of_batches=registry.of_batches(app.worker.concurrency if app.worker is not None else 1),
        sinks=_in_order(registry.sinks), spending=_in_order(registry.spending),
        polls={name: _in_order(app.polls[name].secrets) for name in sorted(app.polls)},
    )  # fmt: skip


def over(app: Sedano, at: float) -> list[str]:
    """Return the names of the schedules that *app* declares and that have no occurrence after the moment *at* (epoch s), in order."""
    return [name for name, one in sorted(app.periodics.items()) if next(iter(one.schedule.timetable.following(at)), None) is None]


def _task(spec: TaskSpec) -> DiscoveredTask:
    limits = spec.time_limits
    soft, hard = (limits.soft, limits.hard) if limits is not None else (None, None)
    alone = spec.limits is not None and spec.limits.per_worker
    return DiscoveredTask(
        queue=spec.queue, delivery=spec.delivery, keeps_result=not spec.ignore_result, time_limit=hard, soft_time_limit=soft,
        rate_per_worker=alone,
    )  # fmt: skip


def _in_order(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(names))
