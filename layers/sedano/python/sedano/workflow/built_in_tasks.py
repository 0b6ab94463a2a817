"""The part of workflows in every worker: the names of two built-in tasks, and the loading of their code with the first command.

A client may start a workflow from a file that the workers' app does not name; so they all know how to direct one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sedano.engine.registry import TaskSpec
from sedano.model.tasks.parameters import Parameters
from sedano.workflow.names import COLLECT, PATIENT, PATROL, WORKFLOW, WorkflowApp


def enlist(app: WorkflowApp) -> None:
    """Make *app* one whose workers direct flow runs, unless it is already."""
    if WORKFLOW in app.registry.tasks:
        return

    def direct(run_id: str, step: str | None = None, begin: Mapping[str, Any] | None = None, limit: Sequence[Any] | None = None) -> None:
        from sedano.workflow.orchestration import Directing

        Directing(app).direct(run_id, step, begin, limit)

    def patrol(run_id: str, number: int, turn: int) -> None:
        from sedano.workflow.orchestration import Directing

        Directing(app).patrol(run_id, number, turn)

    queue = app.queues[0]
    app.registry.tasks[WORKFLOW] = TaskSpec(
        WORKFLOW, direct, Parameters(direct), delivery="at_least_once", retry=PATIENT, ignore_result=True, queue=queue
    )
    app.registry.tasks[PATROL] = TaskSpec(PATROL, patrol, Parameters(patrol), retry=PATIENT, ignore_result=True, queue=queue)
    app.registry.tasks[COLLECT] = TaskSpec(COLLECT, collect, Parameters(collect), queue=queue)


def collect(results: Sequence[Any], kept: Sequence[Sequence[Any]] = ()) -> list[Any]:
    """Return the results of a `map` in the order of its items; *kept*: number and result of each that had ended well before."""
    whole, known = list(results), {int(number): value for number, value in kept}
    for number in sorted(known):
        whole.insert(number, known[number])
    return whole
