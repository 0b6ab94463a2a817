"""`sedano show ID`: the record of a task: state, attempts, worker, times, result or error."""

from __future__ import annotations

import click

from sedano.cli.options import as_json, of_app, seconds, the_app, watched


@click.command(help="Show the record of a task: its state and the reason, attempts, worker, times, result or error.")
@click.argument("task_id", metavar="ID")
@watched
@click.option("--timeout", type=seconds, metavar="SPAN", help="The longest time to watch; default: 15m for a task without a record.")
@of_app
@as_json
def command(task_id: str, watch: bool, timeout: float | None, as_json: bool) -> int:
    """Show the record."""
    if watch:
        from sedano.cli import watching

        return watching.watch_task(the_app(), task_id, as_json, timeout)
    if timeout is not None:
        raise click.UsageError("--timeout is the longest time of a watch; add --watch, or leave out --timeout")
    from sedano.cli import calls

    return calls.show(the_app(), task_id, as_json)
