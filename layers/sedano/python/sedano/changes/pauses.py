"""Pauses and resumptions of queues, tasks, tenants, circuits, single tasks and schedules."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

from sedano.app import Sedano
from sedano.changes.plan import AppliedChange, ChangePlan, Effect, hindered, person
from sedano.changes.targets import SCHEDULE, found, is_paused, load
from sedano.errors import OptionError, UsageError


def pause(app: Sedano, name: str, kind: str | None, seconds: float | None = None) -> ChangePlan:
    """Return the plan to pause the queue, task, tenant, circuit or schedule *name*, for *seconds* or until it is resumed.

    Raises:
        UsageError: several things have that name, or this kind cannot be paused for a time.
        UnknownTask: nothing has that name.
    """
    kind, name = found(app, name, kind)
    if kind == SCHEDULE and seconds is not None:
        raise UsageError("--for: a schedule is paused until `sedano resume`; remove --for")
    until = datetime.fromtimestamp(app.outlet.ports.clock.now() + seconds, UTC) if seconds is not None else None
    ends = f" for {seconds:.0f} s" if seconds is not None else " until `sedano resume`"
    waiting, words = load(app, kind, name)
    line = f"pause 1 {kind}: {name}{ends}{words}; running tasks go on"
    control = partial(valid, app.control.pause, **_named(kind, name), until=until, by=person())
    change = partial(app.schedules.pause, name) if kind == SCHEDULE else control
    effect = Effect(f"{kind} {name} paused", {"kind": kind, "name": name, "state": "paused"})
    return ChangePlan(
        verb="pause", what=f"{kind}={name}", lines=(line,), number=waiting, word=name, make=partial(_changed, change, effect),
        with_reason=None if kind == SCHEDULE else partial(_explained, control, effect),
    )  # fmt: skip


def resume(app: Sedano, name: str, kind: str | None) -> ChangePlan:
    """Return the plan to end a pause; it has a hindrance if *name* is not paused.

    Raises:
        UsageError: several things have that name.
        UnknownTask: nothing has that name.
    """
    kind, name = found(app, name, kind, to_resume=True)
    if not is_paused(app, kind, name):
        return hindered("resume", f"{kind}={name}", f"the {kind} {name} is not paused")
    waiting, words = load(app, kind, name)
    change = partial(app.schedules.resume, name) if kind == SCHEDULE else partial(valid, app.control.resume, **_named(kind, name))
    effect = Effect(f"{kind} {name} resumed", {"kind": kind, "name": name, "state": "resumed"})
    return ChangePlan(
        verb="resume", what=f"{kind}={name}", lines=(f"resume 1 {kind}: {name}{words}",), number=waiting, word=name,
        make=partial(_changed, change, effect),
    )  # fmt: skip


def valid(change: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Call *change*; report an option that it refuses as an invalid request.

    Raises:
        UsageError: *change* refuses an argument.
    """
    try:
        return change(*arguments, **named)
    except OptionError as wrong:
        raise UsageError(str(wrong)) from wrong


def _named(kind: str, name: str) -> dict[str, Any]:
    return {kind: name}


def _explained(change: Callable[..., Any], effect: Effect, reason: str) -> AppliedChange:
    change(reason=reason)
    return AppliedChange((effect,))


def _changed(change: Callable[[], Any], effect: Effect) -> AppliedChange:
    change()
    return AppliedChange((effect,))
