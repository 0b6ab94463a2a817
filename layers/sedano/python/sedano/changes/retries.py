"""Retrying parked messages, ended tasks, and runs of workflows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from sedano.app import Sedano
from sedano.changes.plan import AppliedChange, ChangePlan, Effect, hindered
from sedano.changes.redrives import rerun_effect, sent
from sedano.engine import reruns
from sedano.engine.parked.redrive import Parked, give_back, parked, planned
from sedano.engine.reruns import Rerun
from sedano.errors import ArgumentError, RerunRefused, SedanoError, UsageError
from sedano.model.tasks.signature import call_text
from sedano.ports.absent import has
from sedano.workflow import find


class KeptCall(NamedTuple):
    """The arguments of a task."""

    args: Sequence[Any]
    kwargs: Mapping[str, Any]


class _Meant(NamedTuple):
    """The selection of a retry: *parked* messages, *runs* of workflows by id, and the next runs of *ended* tasks."""

    parked: Sequence[Parked]
    runs: Sequence[str]
    ended: Sequence[Rerun]


def retry(app: Sedano, ids: Sequence[str]) -> ChangePlan:
    """Return the plan to run *ids* again: ids of tasks, parked messages or runs of workflows. It holds the parked messages.

    An id that cannot run again is refused with the reason; if no id can run again, the plan has a hindrance.

    Raises:
        Unavailable: a store did not answer.
    """
    ports, what = app.outlet.ports, " ".join(ids)
    some = parked(ports, lambda one: any(one.is_named(given) for given in ids))
    rest = [given for given in dict.fromkeys(ids) if not any(one.is_named(given) for one in some)]
    runs = [given for given in rest if has(ports.flow_runs) and ports.flow_runs.read(given) is not None]
    found = reruns.planned(ports, [given for given in rest if given not in runs])
    refused = tuple(one for one in found if isinstance(one, SedanoError))
    meant = _Meant(some, runs, [one for one in found if isinstance(one, Rerun)])
    number = sum(map(len, meant))
    if not number:
        return hindered("retry", what, "; ".join(map(str, refused)), refused)
    return ChangePlan(
        verb="retry", what=what, lines=_lines(meant), number=number, word=str(number), make=partial(_made, app, meant), refused=refused,
        drop=partial(give_back, ports, some),
    )  # fmt: skip


def retry_edited(app: Sedano, task_id: str, args: Sequence[Any] | None, kwargs: Mapping[str, Any] | None) -> ChangePlan:
    """Return the plan to run the ended task *task_id* again with other arguments; None keeps the present ones.

    Raises:
        UsageError: the task does not take these arguments.
        Unavailable: a store did not answer.
    """
    (found,) = reruns.planned(app.outlet.ports, [task_id])
    if isinstance(found, SedanoError):
        return hindered("retry", task_id, str(found), (found,))
    try:
        again = reruns.edited(found, args, kwargs, app.registry)
    except RerunRefused as refused:
        return hindered("retry", task_id, str(refused), (refused,))
    except ArgumentError as wrong:
        raise UsageError(f"{found.command.task} does not take these arguments: {wrong}") from wrong
    head = f"run 1 ended task of {found.command.task} again with other arguments, under a new id"
    before = f"before: {_call(found)}" if found.command.data_ref is None else "before: arguments in the blob store"
    return ChangePlan(
        verb="retry", what=f"{task_id} with other arguments", lines=(head, before, f"now: {_call(again)}"), number=1, word="1",
        make=partial(_published, app, [again]),
    )  # fmt: skip


def kept_call(app: Sedano, task_id: str) -> KeptCall | None:
    """Return the arguments in the record of the ended task *task_id*; None if the record has none.

    Raises:
        Unavailable: the ledger did not answer.
    """
    record = app.outlet.ports.ledger.read([task_id]).get(task_id)
    found = reruns.arguments_of(record) if record is not None else None
    return None if found is None else KeptCall(*found)


def _call(one: Rerun) -> str:
    """Return the arguments of *one* as in a call."""
    return call_text(one.command.args, one.command.kwargs)


def _lines(meant: _Meant) -> tuple[str, ...]:
    """Return the effects of a retry, a line for each kind."""
    again = f"run {len(meant.ended)} ended tasks again, each under a new id; later tasks of their canvas do not run again"
    kinds = (
        (meant.parked, f"send {len(meant.parked)} parked messages again"), (meant.runs, f"retry {len(meant.runs)} runs of workflows"),
        (meant.ended, again),
    )  # fmt: skip
    return tuple(line for of, line in kinds if of)


def _made(app: Sedano, meant: _Meant) -> AppliedChange:
    done = (_redriven(app, meant.parked), _published(app, meant.ended), _retried(app, meant.runs))
    return AppliedChange(tuple(one for each in done for one in each.effects), tuple(one for each in done for one in each.left))


def _redriven(app: Sedano, some: Sequence[Parked]) -> AppliedChange:
    return sent(app, planned(app.outlet.ports, some, app.registry)) if some else AppliedChange(())


def _published(app: Sedano, ended: Sequence[Rerun]) -> AppliedChange:
    answers = reruns.publish(app.outlet.ports, ended)
    pairs = tuple(zip(ended, answers, strict=True))
    left = tuple(f"{one.ended_id} was not published: {error}" for one, error in pairs if error is not None)
    return AppliedChange(tuple(rerun_effect(one) for one, error in pairs if error is None), left)


def _retried(app: Sedano, runs: Sequence[str]) -> AppliedChange:
    effects, left = list[Effect](), list[str]()
    for run in runs:
        try:
            state = find(app, run).retry()
            effects.append(Effect(f"{run} {state}", {"id": run, "state": state}))
        except SedanoError as refused:
            left.append(str(refused))
    return AppliedChange(tuple(effects), tuple(left))
