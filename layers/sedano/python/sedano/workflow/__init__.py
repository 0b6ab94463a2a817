"""Workflows: an immutable, declarative canvas with named steps, checked before it runs, whose runs survive any crash.

    from sedano.workflow import Input, Step, Workflow, each, own

    class Fulfil(Workflow, app=app, version="3"):
        order = Input(int)
        price = Step(price_order.s(order))
        charge = Step(charge_card.s(price["total"]), compensate=refund.s(own), retry=3, time_limit=60)
        pack = Step(pack_line.s(each(price["lines"])), after=charge, when=price["total"] > 0)

    run = Fulfil.delay(order=7)
    run.get()                                   # {"pack": […]}

`load(app, "fulfil.toml")` reads a workflow from a file. `runs` and `find` return runs: inspect, pause, resume, cancel or retry them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

    from sedano.workflow.declaration import Input, Step, Workflow
    from sedano.workflow.files import load
    from sedano.workflow.finder import find, runs
    from sedano.workflow.flow import Flow
    from sedano.workflow.flow_handle import FlowResult, FlowView, StepView
    from sedano.workflow.values import each, own

__all__ = ["Flow", "FlowResult", "FlowView", "Input", "Step", "StepView", "Workflow", "each", "find", "load", "own", "runs"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Return the object called *name*, loaded at its first use."""
        home = _home(name)
        if home is None:
            raise AttributeError(f"module 'sedano.workflow' has no attribute {name!r}")
        found = globals()[name] = getattr(home, name)
        return found


def _home(name: str) -> ModuleType | None:
    """Return the module that *name* comes from, loaded here: a worker whose workflows are classes loads no reader of files."""
    home: ModuleType
    match name:
        case "Input" | "Step" | "Workflow":
            import sedano.workflow.declaration as home
        case "load":
            import sedano.workflow.files as home
        case "find" | "runs":
            import sedano.workflow.finder as home
        case "Flow":
            import sedano.workflow.flow as home
        case "FlowResult" | "FlowView" | "StepView":
            import sedano.workflow.flow_handle as home
        case "each" | "own":
            import sedano.workflow.values as home
        case _:
            return None
    return home
