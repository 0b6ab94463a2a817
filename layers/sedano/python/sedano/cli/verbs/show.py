"""`sedano show ID`: the record of a task: state, attempts, worker, times, result or error."""

from __future__ import annotations

import click

from sedano.cli.options import as_json, of_app, the_app


@click.command(help="Show the record of a task: its state and the reason, attempts, worker, times, result or error.")
@click.argument("task_id", metavar="ID")
@of_app
@as_json
def command(task_id: str, as_json: bool) -> int:
    """Show the record."""
    from sedano.cli import calls

    return calls.show(the_app(), task_id, as_json)
