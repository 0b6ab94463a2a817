"""`sedano workflow`: check, draw and start workflows; list, show, pause, resume, cancel and retry their runs.

    sedano workflow check fulfil.toml
    sedano workflow draw shop.tasks:Fulfil --svg > fulfil.svg
    sedano workflow start shop.tasks:Fulfil order=7
    sedano workflow list
    sedano workflow show RUN --json

A workflow is a file, `module:Class`, or the name in `list` of a workflow that the app's modules declare.
"""

from __future__ import annotations

import click

from sedano.cli.options import as_json, changes, consent, of_app, of_list, the_app

OF_WORKFLOW = "WORKFLOW is a .toml or .yaml file, module:Class, or the name of a workflow of the app"


@click.group(help="Check, draw, start and control workflows.")
@of_app
def command() -> None:
    """Take the options that are given before the subcommand."""


@command.command(help=f"Report all problems of a workflow. {OF_WORKFLOW}.")
@click.argument("workflow")
@of_app
@as_json
def check(workflow: str, as_json: bool) -> int:
    """Check a workflow."""
    from sedano.cli import workflow_runs as doing

    return doing.check(the_app(), workflow, as_json)


@command.command(help=f"Draw a workflow, or a run with its live state. {OF_WORKFLOW}, or the id of a run.")
@click.argument("workflow")
@click.option("--svg", is_flag=True, help="Draw a picture; otherwise Mermaid's language.")
@of_app
@as_json
def draw(workflow: str, svg: bool, as_json: bool) -> None:
    """Draw a workflow."""
    from sedano.cli import workflow_runs as doing

    doing.draw(the_app(), workflow, svg, as_json)


@command.command(help=f"Start a run. Inputs are JSON or plain text. {OF_WORKFLOW}.")
@click.argument("workflow")
@click.argument("inputs", nargs=-1, metavar="[NAME=VALUE]...")
@click.option("--run-id", help="The id of the run; the same id is the same run.")
@of_app
@as_json
def start(workflow: str, inputs: tuple[str, ...], run_id: str | None, as_json: bool) -> None:
    """Start a run."""
    from sedano.cli import workflow_runs as doing

    doing.start(the_app(), workflow, inputs, run_id, as_json)


@command.command("list", help="Show the runs, the latest first; with WORKFLOW only those of that name.")
@click.argument("workflow", required=False)
@of_app
@of_list
def list_(workflow: str | None, as_json: bool) -> None:
    """Show the runs."""
    from sedano.cli import workflow_runs as doing

    doing.show_runs(the_app(), workflow, as_json)


@command.command(help="Show one run with the state of each step.")
@click.argument("run")
@of_app
@as_json
def show(run: str, as_json: bool) -> None:
    """Show one run."""
    from sedano.cli import workflow_runs as doing

    doing.show(the_app(), run, as_json)


@command.command(help="Start no further steps of a run.")
@click.argument("run")
@changes
@of_app
def pause(run: str) -> int:
    """Pause a run."""
    return _control("pause", run)


@command.command(help="Continue a paused run.")
@click.argument("run")
@changes
@of_app
def resume(run: str) -> int:
    """Continue a run."""
    return _control("resume", run)


@command.command(help="Stop a run, and undo the steps that succeeded.")
@click.argument("run")
@changes
@of_app
def cancel(run: str) -> int:
    """Stop a run."""
    return _control("cancel", run)


@command.command(help="Repeat failed compensations; without any, start failed steps again.")
@click.argument("run")
@click.option("--undone", multiple=True, metavar="STEP", help="A step whose compensation failed and that you have undone by hand.")
@changes
@of_app
def retry(run: str, undone: tuple[str, ...]) -> int:
    """Retry a run."""
    return _control("retry", run, undone)


def _control(verb: str, run: str, undone: tuple[str, ...] = ()) -> int:
    from sedano.cli import workflow_runs as doing

    return doing.control(the_app(), verb, run, undone, consent())
