"""The tasks that are in every worker: those that direct workflows, and bulk changes. Their code is loaded with the first command.

A client may start a workflow from a file that the workers' app does not declare, so all workers can direct flow runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sedano.model.tasks.parameters import Parameters
from sedano.model.tasks.task_spec import TaskSpec
from sedano.workflow.names import BULK, COLLECT, PATIENT, PATROL, WORKFLOW, WorkflowApp


def enlist(app: WorkflowApp) -> None:
    """Let the workers of *app* direct flow runs and make bulk changes; calling it again changes nothing."""
    if WORKFLOW in app.registry.tasks:
        return

    def direct(run_id: str, step: str | None = None, begin: Mapping[str, Any] | None = None, limit: Sequence[Any] | None = None) -> None:
        from sedano.workflow.orchestration import Directing

        Directing(app).direct(run_id, step, begin, limit)

    def patrol(run_id: str, number: int, turn: int) -> None:
        from sedano.workflow.orchestration import Directing

        Directing(app).patrol(run_id, number, turn)

    def change(verb: str, ids: Sequence[str], what: str, reason: str, by: str, terminate: bool = False) -> dict[str, Any]:
        from sedano.engine.bulk import BulkChange, BulkRequest
        from sedano.engine.task_context import current

        here, outlet = current(), app.outlet
        made = BulkChange(outlet.ports, outlet.lamport, here.id, here.deadline, here.check)
        end = made.run(BulkRequest(verb=verb, ids=ids, what=what, reason=reason, by=by, terminate=terminate))
        return {"changed": end.changed, "left": end.left, "reasons": list(end.reasons)}

    queue = app.queues[0]
    app.registry.tasks[WORKFLOW] = TaskSpec(
        WORKFLOW, direct, Parameters(direct), delivery="at_least_once", retry=PATIENT, ignore_result=True, queue=queue
    )
    app.registry.tasks[PATROL] = TaskSpec(PATROL, patrol, Parameters(patrol), retry=PATIENT, ignore_result=True, queue=queue)
    app.registry.tasks[BULK] = TaskSpec(BULK, change, Parameters(change), retry=PATIENT, queue=queue)
    app.registry.tasks[COLLECT] = TaskSpec(COLLECT, collect, Parameters(collect), queue=queue)


def collect(results: Sequence[Any], kept: Sequence[Sequence[Any]] = ()) -> list[Any]:
    """Return the results of a `map` in the order of its items; *kept*: number and result of each call that succeeded in an earlier
    attempt."""
    whole, known = list(results), {int(number): value for number, value in kept}
    for number in sorted(known):
        whole.insert(number, known[number])
    return whole
