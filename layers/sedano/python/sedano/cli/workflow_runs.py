"""Checks, draws, starts and controls workflows: the work of `sedano workflow`."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from sedano.app import Sedano
from sedano.cli.consent import Consent, note, refusal
from sedano.cli.exits import Exit
from sedano.cli.printer import Row, say, say_json, table
from sedano.cli.tables import Instant, document, for_json, listing
from sedano.errors import ArgumentError, UsageError, WorkflowInvalid
from sedano.model.messages.timestamps import shown
from sedano.model.tasks.annotations import ANYTHING, kind_of
from sedano.model.workflow import value_types as kinds
from sedano.views import canvas
from sedano.workflow import Flow, FlowResult, FlowView, find, load
from sedano.workflow.flow import declared

_EFFECTS = {
    "pause": "start no further steps; running steps continue",
    "resume": "start its next steps",
    "cancel": "start no further steps, end the running ones and undo those that succeeded",
    "retry": "repeat failed compensations, or start failed steps again",
}
"""The effect of each change on a run, in words."""


def check(app: Sedano, workflow: str, as_json: bool) -> Exit:
    """Report whether the *workflow* can run; raise its problems, or with *as_json* print them in the document."""
    try:
        flow = _flow(app, workflow)
    except WorkflowInvalid as wrong:
        if not as_json:
            raise
        say_json({"schema": "sedano.workflow.check/1", "workflow": workflow, "problems": wrong.problems})
        return Exit.PROBLEMS
    if as_json:
        has = {"name": flow.definition.name, "version": flow.definition.version, "steps": [*flow.definition.steps]}
        say_json({"schema": "sedano.workflow.check/1", "workflow": workflow, "problems": [], **has})
        return Exit.DONE
    say(f"{workflow}: workflow {flow.definition.name}, version {flow.definition.version}, {len(flow.definition.steps)} steps: can run")
    return Exit.DONE


def draw(app: Sedano, workflow: str, svg: bool, as_json: bool) -> None:
    """Write the drawing of a workflow or of a run."""
    is_declared = ":" in workflow or _is_file(workflow) or workflow in declared(app)
    drawn: Flow | FlowResult = _flow(app, workflow) if is_declared else find(app, workflow)
    picture = drawn.svg() if svg else drawn.mermaid()
    if as_json:
        say_json({"workflow": workflow, "format": "svg" if svg else "mermaid", "drawing": picture})
    else:
        sys.stdout.write(picture)


def start(app: Sedano, workflow: str, given: Sequence[str], run_id: str | None, as_json: bool) -> None:
    """Start a run with inputs as NAME=VALUE; print its id."""
    wrong = next((one for one in given if "=" not in one), None)
    if wrong is not None:
        raise UsageError(f"{wrong!r} is not an input; write NAME=VALUE")
    flow = _flow(app, workflow)
    inputs = {name: _value(flow, name, text) for name, _, text in (one.partition("=") for one in given)}
    try:
        run = flow.apply_async(inputs, run_id=run_id)
    except ArgumentError as wrong:
        raise UsageError(str(wrong)) from wrong
    say_json({"run": run.id}) if as_json else say(run.id)
    app.close()


def show_runs(app: Sedano, workflow: str | None, as_json: bool) -> None:
    """Print the runs, the latest first."""
    found = app.outlet.ports.flow_runs.list(workflow)
    rows = [(run.run_id, run.workflow, run.version, run.state, Instant(run.started)) for run in found]
    if as_json:
        names = ("run", "workflow", "version", "state", "started")
        document("workflow.list", [dict(zip(names, one, strict=True)) for one in rows])
        return
    if not found:
        say("there are no runs" + (f" of a workflow {workflow}" if workflow else ""), err=True)
        return
    listing(("RUN", "WORKFLOW", "VERSION", "STATE", "STARTED"), rows, now=app.outlet.ports.clock.now())


def show(app: Sedano, run: str, as_json: bool) -> None:
    """Print one run with the state of each step."""
    view = canvas.run(app, run).run
    if as_json:
        times = {"started": Instant(view.started), "ended": Instant(view.ended)}
        say_json(for_json({**view._asdict(), **times, "steps": [step._asdict() for step in view.steps]}))
        return
    ended = f", ended {shown(view.ended)}" if view.ended else ""
    say(f"{view.run_id}: {view.workflow} {view.version} is {view.state}, began {shown(view.started)}{ended}")
    if view.cause:
        say(f"because of {view.cause}")
    for name, why in view.uncompensated.items():
        say(f"not undone: step {name} ({why})")
    table(("STEP", "STATE", "TASK", "BEGINS", "CALLS", "DETAIL"), _steps(view))


def control(app: Sedano, verb: str, run_id: str, undone: Sequence[str], consent: Consent) -> Exit:
    """Pause, resume, cancel or retry a run, if the user agrees; *undone* names the steps that were undone by hand."""
    run = find(app, run_id)
    found = app.outlet.ports.flow_runs.read(run_id)
    if found is not None:
        plan = f"{verb} 1 run of {found.workflow}, {run_id}, which is {found.state}: {_EFFECTS[verb]}"
        refused = refusal("workflow", [plan], consent)
        if refused is not None:
            return refused
    again = partial(run.retry, undone) if verb == "retry" else run.retry
    verbs: dict[str, Callable[[], str]] = {"pause": run.pause, "resume": run.resume, "cancel": run.cancel, "retry": again}
    state = verbs[verb]()
    consent.done(state, run=run_id, state=state)
    note(app, f"workflow {verb}", run_id, consent)
    app.close()
    return Exit.DONE


def _flow(app: Sedano, named: str) -> Flow:
    """Return the workflow that is *named*: a file, `module:Class`, or the name of one that the app's modules declare."""
    if _is_file(named):
        if not Path(named).is_file():
            raise UsageError(f"{named}: the file does not exist; give the path of the workflow's .toml or .yaml file, from this directory")
        return load(app, named)
    if ":" not in named:
        return _of_name(app, named)
    module, _, attribute = named.partition(":")
    try:
        found: Any = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as wrong:
        raise UsageError(f"{named}: {wrong}; give a .toml or .yaml file, or module:Class") from None
    flow = getattr(found, "flow", found)
    if not isinstance(flow, Flow):
        raise UsageError(f"{named} is a {type(found).__name__}, not a workflow")
    return flow


def _is_file(named: str) -> bool:
    return Path(named).suffix in (".toml", ".yaml", ".yml")


def _of_name(app: Sedano, name: str) -> Flow:
    known = declared(app)
    found = known.get(name, [])
    if len(found) > 1:
        raise UsageError(f"{name}: the app declares {len(found)} workflows with this name; give module:Class")
    if not found:
        has = f"it declares {', '.join(sorted(known))}" if known else "it declares none"
        raise UsageError(f"{name}: the app declares no workflow of this name, {has}; give a .toml or .yaml file, or module:Class")
    return found[0]


def _steps(view: FlowView) -> Iterable[Row]:
    for step in view.steps:
        calls = f"{step.calls[0]} of {step.calls[2]}" + (f", {step.calls[1]} failed" if step.calls[1] else "") if step.calls else ""
        yield step.name, step.state, step.task, str(step.attempt + 1), calls, step.detail


def _value(flow: Flow, name: str, text: str) -> Any:
    """Return *text* as a value of the input *name*: read as JSON, or unchanged if only that fits (`order=7` for a str)."""
    declared = flow.definition.inputs.get(name)
    try:
        value = json.loads(text)
    except ValueError:
        return text
    kind = kind_of(kinds.from_words(declared.type)) if declared is not None else ANYTHING
    return text if kind.accepts(text) and not kind.accepts(value) else value
