"""Workflows: an immutable, declarative canvas with named steps, checked before it runs, whose runs survive any crash.

    from sedano.workflow import Input, Step, Workflow, each, own

    class Fulfil(Workflow, app=app, version="3"):
        order = Input(int)
        price = Step(price_order.s(order))
        charge = Step(charge_card.s(price["total"]), compensate=refund.s(own), retry=3, time_limit=60)
        pack = Step(pack_line.s(each(price["lines"])), after=charge, when=price["total"] > 0)

    run = Fulfil.delay(order=7)
    run.get()                                   # {"pack": […]}

`load(app, "fulfil.toml")` declares the same in a file. `runs`, `find`: look at what runs, and pause, resume, cancel, retry it.
"""

from __future__ import annotations

from sedano.workflow.declaring import Input, Step, Workflow
from sedano.workflow.directing import Publishes, enlist
from sedano.workflow.files import load
from sedano.workflow.flow import Flow
from sedano.workflow.flow_result import FlowResult, FlowView, StepView
from sedano.workflow.values import each, own

__all__ = ["Flow", "FlowResult", "FlowView", "Input", "Step", "StepView", "Workflow", "each", "find", "load", "own", "runs"]


def runs(app: Publishes, workflow: str | None = None) -> list[FlowResult]:
    """Return the runs of the app's deployment, or those of one workflow, the latest first."""
    return [FlowResult(app, run.run_id) for run in app.outlet.ports.flow_runs.list(workflow)]


def find(app: Publishes, run_id: str) -> FlowResult:
    """Return the handle of the run *run_id*, to look at it and control it."""
    enlist(app)
    return FlowResult(app, run_id)
