"""`@app.poll(…)`: a source that is read at intervals, and the task that is called with each of its new items."""

from __future__ import annotations

import inspect
import os
import re
import socket
from collections.abc import Callable, Mapping
from math import inf
from typing import Any, Protocol

from sedano.api import schedule_declaration
from sedano.engine.declaration_origins import may_declare
from sedano.engine.drafts import CommandDraft
from sedano.engine.publisher.publisher import Outlet
from sedano.engine.sources.polls import MARGIN_S, TOGETHER, Poll, Polls, Read
from sedano.engine.task_context import current
from sedano.errors import ConfigurationError, OptionError
from sedano.model.history.run_rows import Host
from sedano.model.messages.message import TimeLimits
from sedano.model.retry import Retry
from sedano.model.schedules.timetable import Timetable
from sedano.model.sources.polls import POLL, Identity, Polled, SecretReader, field_identity
from sedano.model.sources.webhooks import NAME
from sedano.model.tasks.signature import Signature
from sedano.task import Task

RETRY = Retry(max_retries=3, interval_start=5.0, interval_max=60.0)
"""The retry policy of the task of a poll: the next poll reads the same cursor anyway."""
WITHOUT = ("name", "batch", "bind", "sinks", "on", "serial_key", "debounce", "delivery")
"""The options of a task that the task of a poll does not have."""
Source = Callable[[Any], Polled | None] | SecretReader


class PollApp(schedule_declaration.ScheduleApp, Protocol):
    """The part of an app that polls need."""

    @property
    def polls(self) -> dict[str, Poll]:
        """The declared polls, by name."""


def check(name: object, source: object, identity: object, options: Mapping[str, Any]) -> None:
    """Refuse what no poll can have, before the task is known.

    Raises:
        OptionError: an option cannot be honoured.
    """
    if not isinstance(name, str) or not re.fullmatch(NAME, name):
        raise OptionError(f"poll: {name!r:.60} is not a valid name; write @app.poll('orders', …): a-z, then a-z, 0-9, - and _, at most 40")
    if isinstance(source, str):
        raise OptionError(f"poll {name}: give a function of the cursor, or an address as http({source!r:.120}, …) of sedano.polls")
    if not hasattr(source, "secrets") and (not callable(source) or inspect.iscoroutinefunction(source)):
        raise OptionError(f"poll {name}: its source is {source!r:.80}; give a plain function of the cursor, or http(…) of sedano.polls")
    if identity is not None and not _identifies(identity):
        raise OptionError(f"poll {name}: identity is {identity!r:.60}; give the field that identifies an item, or a plain function of it")
    for option in options:
        if option in WITHOUT:
            raise OptionError(f"{option}: the task of a poll has no such option; write it in @app.task(…) of the task that it calls")
    _check_time_limits(name, options)


def _check_time_limits(name: str, options: Mapping[str, Any]) -> None:
    """Raise `OptionError` for a time limit within which the poll *name* may publish nothing."""
    for option in ("time_limit", "soft_time_limit"):
        limit = options.get(option)
        if isinstance(limit, int | float) and 0 < limit < 2 * MARGIN_S:
            least = f"a poll reads a page and publishes {TOGETHER} calls together, and begins neither in its last {MARGIN_S:g} s"
            raise OptionError(f"{option}: {limit!r} s is too short for poll {name}: {least}; write {option}={2 * MARGIN_S:g} or more")


def declare(
    app: PollApp, named: tuple[str, Timetable], source: Source, identity: str | Identity | None, options: Mapping[str, Any], task: object
) -> None:  # fmt: skip
    """Declare the poll *named* of *app*, which calls *task*; see `Sedano.poll`.

    Raises:
        OptionError: an option cannot be honoured, or *task* cannot be called with an item.
    """
    name, timetable = named
    if not isinstance(task, Task) or app.registry.tasks.get(task.name) is not task.spec:
        who = getattr(task, "name", getattr(task, "__qualname__", repr(task)))
        raise OptionError(f"poll {name}: {who} is not a task of this app; write @app.poll({name!r}, …) in the line above @app.task")
    try:
        task.spec.parameters.signature.bind(None)
    except TypeError as wrong:
        raise OptionError(f"poll {name}: {task.name} is called with one argument, an item: {wrong}") from None
    if not may_declare(app.registry, f"poll {name}", task.name, name in app.polls):
        raise OptionError(f"poll {name}: declared twice; give one of them another name")
    app.registry.need("memos", f"the poll {name}")
    reader = _reader(source)
    secrets = tuple(getattr(source, "secrets", ()))
    if secrets:
        app.registry.need("parameters", f"the poll {name}")
    app.polls[name] = Poll(name, reader, task.name, field_identity(identity) if isinstance(identity, str) else identity, secrets)
    own = app.task(**{"retry": RETRY, **options, "name": f"{POLL}.{name}"})(_body(app, name))
    app.registry.tasks[own.name] = own.spec = own.spec._replace(failure_metric="PollsFailed")
    schedule_declaration.declare(app, own, timetable, own.name, ((), None), (0, None, True, None, None), {})


def _identifies(identity: object) -> bool:
    return identity != "" if isinstance(identity, str) else callable(identity) and not inspect.iscoroutinefunction(identity)


def _reader(source: Any) -> Read:
    return source.read if hasattr(source, "secrets") else lambda cursor, _: source(cursor)


def _body(app: PollApp, name: str) -> Callable[[], dict[str, Any]]:
    """Return the body of the task of the poll *name*."""

    def poll() -> dict[str, Any]:
        context, ports = current(), app.outlet.ports
        declared, own = app.registry.tasks[f"{POLL}.{name}"].time_limits, context.command.time_limits
        limits = (declared if own is None else own.over(declared)) or TimeLimits()
        first = min(limit for limit in (*limits, inf) if limit is not None)
        return polling(app).run(app.polls[name], context.id, min(context.deadline, ports.clock.now() + first))._asdict()

    return poll


def polling(app: PollApp) -> Polls:
    """Return the reader of the polls of *app*."""
    outlet: Outlet = app.outlet

    def called(task: str, item: Any, task_id: str) -> CommandDraft:
        return outlet.drafting.call(Signature(task, (item,)), task_id)

    return Polls(called, outlet.ports, Host(f"{app.name}@{socket.gethostname()}", os.getpid()), outlet.lamport)


def again(app: PollApp, name: str, text: str) -> None:
    """Publish the call with a parked item of the poll *name*.

    Raises:
        SedanoError: the app does not declare it, or the call still cannot be made or sent.
    """
    if name not in app.polls:
        raise ConfigurationError(f"poll {name}: this app does not declare it; name the app that does with --app")
    polling(app).again(app.polls[name], text)
