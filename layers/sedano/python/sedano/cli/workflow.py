"""`sedano workflow`: check, draw and start workflows; list, show, pause, resume, cancel and retry their runs.

    python -m sedano workflow check fulfil.toml
    python -m sedano workflow draw shop.tasks:Fulfil --svg > fulfil.svg
    python -m sedano workflow start shop.tasks:Fulfil order=7
    python -m sedano workflow list
    python -m sedano workflow show RUN --json

Which app is meant: `--app module:attribute`, or `SEDANO_APP`. A workflow is a file, `module:Class`, or the name that `list` shows of a
workflow that the app's modules declare.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from sedano.app import Sedano
from sedano.cli.console import Row, app_of, table, takes_app
from sedano.cli.printer import say, say_json
from sedano.errors import ArgumentError, UsageError
from sedano.model.messages.timestamps import shown
from sedano.model.tasks.annotations import ANYTHING, kind_of
from sedano.model.workflow import value_types as kinds
from sedano.workflow import Flow, FlowResult, FlowView, find, load
from sedano.workflow.flow import declared

CONTROLS = {
    "pause": "begin no further step",
    "resume": "go on",
    "cancel": "stop, and undo what ended well",
    "retry": "undo what was left undone; then, once more, begin again what failed",
}


def main(arguments: Sequence[str]) -> int:
    """Do what the command line says; return the exit code."""
    asked = _parser().parse_args(arguments)
    verb: Callable[[Sedano, argparse.Namespace], int] = asked.do
    return verb(app_of(asked), asked)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="sedano workflow", description="check, draw, start and control workflows")
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    check = verbs.add_parser("check", help="tell everything that is wrong with a workflow")
    draw = verbs.add_parser("draw", help="draw a workflow, or a run with its live state")
    start = verbs.add_parser("start", help="begin a run: NAME=VALUE … are its inputs, values in JSON or plain text")
    for verb in (check, start):
        verb.add_argument("workflow", help="a .toml or .yaml file, module:Class, or the name of a workflow of the app")
    draw.add_argument("workflow", help="a file, module:Class, the name of a workflow of the app, or the id of a run")
    draw.add_argument("--svg", action="store_true", help="a picture; otherwise Mermaid's language")
    start.add_argument("inputs", nargs="*", metavar="NAME=VALUE")
    start.add_argument("--run-id", help="names the run; the same id is the same run")
    every = verbs.add_parser("list", help="the runs, the latest first")
    every.add_argument("workflow", nargs="?", help="only those of the workflow with this name")
    show = verbs.add_parser("show", help="one run with the state of each step")
    for verb in (every, show):
        verb.add_argument("--json", action="store_true", help="as JSON lines")
    for verb, do in ((check, _check), (draw, _draw), (start, _start), (every, _list), (show, _show)):
        verb.set_defaults(do=do)
    show.add_argument("run", help="the run's id")
    for name, words in CONTROLS.items():
        verb = verbs.add_parser(name, help=words)
        verb.set_defaults(do=_control, verb=name)
        verb.add_argument("run", help="the run's id")
        if name == "retry":
            verb.add_argument("--undone", action="append", default=[], metavar="STEP", help="it was left undone, and undone by hand since")
    takes_app(parser, *verbs.choices.values())
    return parser


def _check(app: Sedano, asked: argparse.Namespace) -> int:
    flow = _flow(app, asked.workflow)
    say(
        f"{asked.workflow}: workflow {flow.definition.name}, version {flow.definition.version}, {len(flow.definition.steps)} steps: can run"
    )
    return 0


def _draw(app: Sedano, asked: argparse.Namespace) -> int:
    is_declared = ":" in asked.workflow or _is_file(asked.workflow) or asked.workflow in declared(app)
    drawn: Flow | FlowResult = _flow(app, asked.workflow) if is_declared else find(app, asked.workflow)
    sys.stdout.write(drawn.svg() if asked.svg else drawn.mermaid())
    return 0


def _start(app: Sedano, asked: argparse.Namespace) -> int:
    wrong = next((given for given in asked.inputs if "=" not in given), None)
    if wrong is not None:
        raise UsageError(f"{wrong!r} is no input; write NAME=VALUE")
    flow = _flow(app, asked.workflow)
    inputs = {name: _value(flow, name, text) for name, _, text in (given.partition("=") for given in asked.inputs)}
    try:
        run = flow.apply_async(inputs, run_id=asked.run_id)
    except ArgumentError as wrong:
        raise UsageError(str(wrong)) from wrong
    say(run.id)
    app.close()
    return 0


def _list(app: Sedano, asked: argparse.Namespace) -> int:
    found = app.outlet.ports.flow_runs.list(asked.workflow)
    if asked.json:
        for run in found:
            say_json({"run": run.run_id, "workflow": run.workflow, "version": run.version, "state": run.state, "started": run.started})
        return 0
    if not found:
        say("there are no runs" + (f" of a workflow {asked.workflow}" if asked.workflow else ""), err=True)
        return 0
    table(("RUN", "WORKFLOW", "VERSION", "STATE", "STARTED"), [(r.run_id, r.workflow, r.version, r.state, shown(r.started)) for r in found])
    return 0


def _show(app: Sedano, asked: argparse.Namespace) -> int:
    view = find(app, asked.run).show()
    if asked.json:
        say_json({**view._asdict(), "steps": [step._asdict() for step in view.steps]})
        return 0
    ended = f", ended {shown(view.ended)}" if view.ended else ""
    say(f"{view.run_id}: {view.workflow} {view.version} is {view.state}, began {shown(view.started)}{ended}")
    if view.cause:
        say(f"because of {view.cause}")
    for name, why in view.uncompensated.items():
        say(f"not undone: step {name} ({why})")
    table(("STEP", "STATE", "TASK", "BEGINS", "CALLS", "DETAIL"), _steps(view))
    return 0


def _control(app: Sedano, asked: argparse.Namespace) -> int:
    run = find(app, asked.run)
    again = partial(run.retry, asked.undone) if asked.verb == "retry" else run.retry
    verbs: dict[str, Callable[[], str]] = {"pause": run.pause, "resume": run.resume, "cancel": run.cancel, "retry": again}
    say(verbs[asked.verb]())
    app.close()
    return 0


def _flow(app: Sedano, named: str) -> Flow:
    """Return the workflow that is *named*: a file, `module:Class`, or the name of one that the app's modules declare."""
    if _is_file(named):
        if not Path(named).is_file():
            raise UsageError(f"{named}: there is no such file; give the path of the workflow's .toml or .yaml file, from this directory")
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
    """Return *text* as the input *name* takes it: what it says in JSON, or the text itself where only that fits (`order=7` for a str)."""
    declared = flow.definition.inputs.get(name)
    try:
        value = json.loads(text)
    except ValueError:
        return text
    kind = kind_of(kinds.from_words(declared.type)) if declared is not None else ANYTHING
    return text if kind.accepts(text) and not kind.accepts(value) else value
