"""The plan of a change that a task of the stage makes, because a search found many tasks. The task reports its progress."""

from __future__ import annotations

from functools import partial

from sedano.app import Sedano
from sedano.changes.plan import MOST_UNTYPED, AppliedChange, ChangePlan, Effect, FoundTasks, person
from sedano.model.bulk import PAGE, RETRY
from sedano.workflow.built_in_tasks import enlist
from sedano.workflow.names import BULK


def is_bulk(found: FoundTasks) -> bool:
    """Return whether a task must make the change, because more tasks were *found* than one click may change."""
    return len(found.ids) > MOST_UNTYPED


def bulk(app: Sedano, verb: str, query: str, found: FoundTasks, *, terminate: bool = False) -> ChangePlan:
    """Return the plan for a task of the stage that makes the change *verb* for the tasks that the search *query* found.

    The preview (*found*) has drawn the id of the task, so making the plan twice publishes copies of one task, and only one copy runs.
    """
    task_id = found.change or f"bulk-{app.outlet.ports.entropy.uuid()}"
    kept, number = found._replace(change=task_id), len(found.ids)
    again = "run {} tasks again, each under a new id" if verb == RETRY else "revoke {} tasks"
    how = f"one task of the stage makes the change, {PAGE} at a time: {task_id}"
    lines = (f"{query}: {found.sentence}", again.format(f"{number:,}"), how, *_left(verb))
    begin = partial(_begun, app, verb, query, kept, terminate)
    return ChangePlan(
        verb=verb, what=f"query={query}", lines=lines, number=number, word=str(number), make=partial(begin, ""), with_reason=begin,
        found=kept,
    )  # fmt: skip


def _left(verb: str) -> tuple[str, ...]:
    return ("a task that cannot run again is skipped; parked messages stay parked: use redrive to send them",) if verb == RETRY else ()


def _begun(app: Sedano, verb: str, query: str, found: FoundTasks, terminate: bool, reason: str) -> AppliedChange:
    enlist(app)
    request = {"verb": verb, "ids": list(found.ids), "what": f"query={query}", "reason": reason, "by": person(), "terminate": terminate}
    app.send_task(BULK, kwargs=request, task_id=found.change)
    text = f"{found.change} changes {len(found.ids):,} tasks; `sedano show` reports its progress, `sedano revoke --terminate` stops it"
    return AppliedChange((Effect(text, {"id": found.change, "bulk": found.change, "tasks": len(found.ids)}),))
