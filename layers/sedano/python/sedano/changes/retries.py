"""Running again what did not end well: parked messages, ended tasks, and runs of workflows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from sedano.app import Sedano
from sedano.changes.plan import ChangePlan, Effect, Made, hindered
from sedano.changes.redrives import rerun_effect, sent
from sedano.engine import reruns
from sedano.engine.parked.redrive import Parked, give_back, parked, planned
from sedano.engine.reruns import Rerun
from sedano.errors import SedanoError
from sedano.ports.absent import has
from sedano.workflow import find


class _Meant(NamedTuple):
    """The selection of a retry: *parked* messages, *runs* of workflows by id, and the next runs of *ended* tasks."""

    parked: Sequence[Parked]
    runs: Sequence[str]
    ended: Sequence[Rerun]


def retry(app: Sedano, ids: Sequence[str]) -> ChangePlan:
    """Return the plan to run *ids* again: ids of tasks, parked messages or runs of workflows. It holds the parked messages.

    An id that cannot run again is refused with the reason; the plan has a hindrance where none can.

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


def _lines(meant: _Meant) -> tuple[str, ...]:
    """Return what a retry would do, a line for each kind."""
    again = f"run {len(meant.ended)} ended tasks again, each under a new id; what follows them in a canvas does not run again"
    kinds = (
        (meant.parked, f"send {len(meant.parked)} parked messages again"), (meant.runs, f"retry {len(meant.runs)} runs of workflows"),
        (meant.ended, again),
    )  # fmt: skip
    return tuple(line for of, line in kinds if of)


def _made(app: Sedano, meant: _Meant) -> Made:
    done = (_redriven(app, meant.parked), _published(app, meant.ended), _retried(app, meant.runs))
    return Made(tuple(one for each in done for one in each.effects), tuple(one for each in done for one in each.left))


def _redriven(app: Sedano, some: Sequence[Parked]) -> Made:
    return sent(app, planned(app.outlet.ports, some, app.registry)) if some else Made(())


def _published(app: Sedano, ended: Sequence[Rerun]) -> Made:
    answers = reruns.publish(app.outlet.ports, ended)
    pairs = tuple(zip(ended, answers, strict=True))
    left = tuple(f"{one.ended_id} was not published: {error}" for one, error in pairs if error is not None)
    return Made(tuple(rerun_effect(one) for one, error in pairs if error is None), left)


def _retried(app: Sedano, runs: Sequence[str]) -> Made:
    effects, left = list[Effect](), list[str]()
    for run in runs:
        try:
            state = find(app, run).retry()
            effects.append(Effect(f"{run} {state}", {"id": run, "state": state}))
        except SedanoError as refused:
            left.append(str(refused))
    return Made(tuple(effects), tuple(left))
