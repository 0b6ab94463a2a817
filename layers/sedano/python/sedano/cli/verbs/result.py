"""`sedano result ID`: the value of a task as JSON, or its error."""

from __future__ import annotations

import click

from sedano.cli.options import as_json, of_app, seconds, the_app

HELP = """Print the result of a task as JSON. An error goes to stderr, with its traceback.

--json prints one document with the state, the result and the error."""


@click.command(help=HELP)
@click.argument("task_id", metavar="ID")
@click.option("--wait", is_flag=True, help="Wait until the task ends.")
@click.option("--timeout", type=seconds, default="30", metavar="SPAN", help="The longest time to wait; default: 30.")
@as_json
@of_app
def command(task_id: str, wait: bool, timeout: float, as_json: bool) -> int:
    """Print the result."""
    from sedano.cli import calls

    return calls.result(the_app(), task_id, wait=wait, timeout=timeout, as_json=as_json)
