"""`sedano result ID`: the value of a task as JSON, or its error."""

from __future__ import annotations

import click

from sedano.cli.options import of_app, seconds, the_app


@click.command(help="Print the result of a task as JSON. An error goes to stderr, with its traceback.")
@click.argument("task_id", metavar="ID")
@click.option("--wait", is_flag=True, help="Wait until the task ends.")
@click.option("--timeout", type=seconds, default="30", metavar="SPAN", help="Wait at most so long; default: 30.")
@of_app
def command(task_id: str, wait: bool, timeout: float) -> int:
    """Print the result."""
    from sedano.cli import calls

    return calls.result(the_app(), task_id, wait=wait, timeout=timeout)
