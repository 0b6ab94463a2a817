"""Limits of a task that are changed at run time: how often it starts, how many run at a time."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from sedano.app import Sedano
from sedano.changes.pauses import valid
from sedano.changes.plan import AppliedChange, ChangePlan, Effect
from sedano.changes.targets import found
from sedano.errors import UsageError
from sedano.model.limits import rate as rates
from sedano.model.limits import task_limits
from sedano.model.pauses import TASK

LIFTED = "none"
"""The word that removes a limit."""
AS_DECLARED = "as declared"


def limit(app: Sedano, name: str, rate: str | None = None, concurrency: str | None = None, *, restore: bool = False) -> ChangePlan:
    """Return the plan to change the *rate* or the *concurrency* of a task (``none`` removes it), or to restore all its declared limits.

    Raises:
        UnknownTask: the app has no such task.
        UsageError: a limit is not valid.
    """
    task = found(app, name, TASK)[1]
    if rate not in (None, LIFTED):
        valid(rates.paces, rate, 1)
    if concurrency not in (None, LIFTED):
        valid(task_limits.concurrency, _number(concurrency))
    changes = [f"rate {rate}"] * (rate is not None) + [f"concurrency {concurrency}"] * (concurrency is not None)
    after = AS_DECLARED if restore else ", ".join(changes)
    what = f"limits of 1 task, {task}: {after}"
    line = f"{what}; workers apply it at their next heartbeat"
    make = partial(_changed, app, task, rate, concurrency, restore, f"{task} {after}")
    return ChangePlan(verb="limit", what=what, lines=(line,), number=0, word=task, make=make)


def _changed(app: Sedano, task: str, rate: str | None, concurrency: str | None, restore: bool, text: str) -> AppliedChange:
    limits: Mapping[str, str] = {}
    if restore:
        limits = app.control.restore_limits(task)
    if rate is not None:
        limits = valid(app.control.rate_limit, task, None if rate == LIFTED else rate)
    if concurrency is not None:
        limits = valid(app.control.concurrency, task, None if concurrency == LIFTED else _number(concurrency))
    return AppliedChange((Effect(text, {"task": task, "limits": limits.get(task, AS_DECLARED)}),))


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise UsageError(f"concurrency: {text} is neither a whole number nor none")
    return int(text)
