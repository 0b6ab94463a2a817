"""The declarations of an app as one record: the needs of its deployment. Only the app is read; nothing is connected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from sedano.app import AWS, Sedano
from sedano.engine.registry import TaskSpec
from sedano.model.messages.message import NOTHING
from sedano.model.tasks.signature import Delivery

OWN = "sedano."
"""How the names of the library's own tasks begin."""


class DiscoveredTask(NamedTuple):
    """One task: its queue, how it is delivered, whether a result is kept, and its time limits in seconds, None for none."""

    queue: str
    delivery: Delivery
    keeps_result: bool
    time_limit: float | None = None
    soft_time_limit: float | None = None


class Discovered(NamedTuple):
    """An app: its name, its command queues, its tasks by name, which tasks hear of each event, and its schedules with their tasks.

    *tended*: a controller has to look after it, for a queue has a budget or a health check is shared. *webhooks*: their names, each with
    whether its sender signs. *streams*: their names, each with the tasks that read it and the operations that each wants (none named:
    all). *connect*: what brings its ports, where that is not the library's own. *worker*: the settings of its workers, where it names any.
    *layers*: those of its configuration, the first to count first.

    Everything is in order of name, so that the same declarations in another order are the same record.
    """

    name: str
    queues: tuple[str, ...]
    tasks: Mapping[str, DiscoveredTask]
    subscriptions: Mapping[str, tuple[str, ...]]
    schedules: Mapping[str, str]
    tended: bool = False
    webhooks: Mapping[str, bool] = NOTHING
    streams: Mapping[str, Mapping[str, tuple[str, ...]]] = NOTHING
    connect: str = ""
    worker: Mapping[str, float] = NOTHING
    layers: tuple[str, ...] = ()


def discovered(app: Sedano) -> Discovered:
    """Return what *app* declares. Complete once the user's modules are imported; the library's own tasks are left out."""
    registry = app.registry
    own = [name for name in registry.tasks if not name.startswith(OWN)]
    return Discovered(
        name=app.name, queues=tuple(sorted(app.queues)), tasks={name: _task(registry.tasks[name]) for name in sorted(own)},
        subscriptions={event: _in_order(registry.subscriptions[event]) for event in sorted(registry.subscriptions)},
        schedules={name: app.periodics[name].call.task for name in sorted(app.periodics)},
        tended=bool(registry.budgets) or any(check.spec.shared for check in registry.checks.values()),
        webhooks={name: app.webhooks[name].scheme.signs for name in sorted(app.webhooks)},
        streams={name: {task: app.streams[name][task] for task in sorted(app.streams[name])} for name in sorted(app.streams)},
        connect=app.connect if app.connect != AWS else "", worker=app.worker._asdict() if app.worker is not None else {},
        layers=() if registry.configuration is None else tuple(map(str, registry.configuration.layers)),
    )  # fmt: skip


def over(app: Sedano, at: float) -> list[str]:
    """Return the names of the schedules that *app* declares and that have no occurrence after the moment *at* (epoch s), in order."""
    return [name for name, one in sorted(app.periodics.items()) if next(iter(one.schedule.timetable.following(at)), None) is None]


def _task(spec: TaskSpec) -> DiscoveredTask:
    limits = spec.time_limits
    soft, hard = (limits.soft, limits.hard) if limits is not None else (None, None)
    return DiscoveredTask(spec.queue, spec.delivery, not spec.ignore_result, hard, soft)


def _in_order(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(names))
