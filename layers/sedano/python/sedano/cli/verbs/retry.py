"""`sedano retry ID...`: once more what was parked, tasks that failed, and runs of workflows that failed."""

from __future__ import annotations

import click

from sedano.cli.options import changes, consent, of_app, the_app

HELP = """Run again what did not end well: send parked messages of tasks again, run failed tasks again, and retry runs of workflows.

A task that has ended runs again with its arguments, as a task of its own: its id is derived from the first one, and printed. The
task runs once, however often you retry it. The tasks behind it in a canvas do not run again."""


@click.command(help=HELP)
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@changes
@of_app
def command(ids: tuple[str, ...]) -> int:
    """Run tasks or runs again."""
    from sedano.cli import retries

    return retries.retry(the_app(), ids, consent())
