"""Finding runs of workflows: those of a deployment, and one by its id."""

from __future__ import annotations

from sedano.workflow.built_in_tasks import enlist
from sedano.workflow.flow_handle import FlowResult
from sedano.workflow.names import WorkflowApp


def runs(app: WorkflowApp, workflow: str | None = None) -> list[FlowResult]:
    """Return the runs of the app's deployment, or those of one workflow, the latest first."""
    return [FlowResult(app, run.run_id) for run in app.outlet.ports.flow_runs.list(workflow)]


def find(app: WorkflowApp, run_id: str) -> FlowResult:
    """Return the handle of the run *run_id*, to look at it and control it."""
    enlist(app)
    return FlowResult(app, run_id)
