"""`sedano explain ID`: why has this task not run? One sentence, and with `--json` its evidence."""

from __future__ import annotations

import click

from sedano.cli.options import as_json, of_app, the_app


@click.command(help="Explain why a task has not run: one sentence, then the evidence.")
@click.argument("task_id", metavar="ID")
@of_app
@as_json
def command(task_id: str, as_json: bool) -> None:
    """Explain why the task has not run."""
    from sedano.cli.explanations import show

    show(the_app(), task_id, as_json)
