"""`sedano retry ID...`: once more what was parked, and runs of workflows that failed."""

from __future__ import annotations

import click

from sedano.cli.options import changes, consent, of_app, the_app

HELP = """Run again what did not end well: send parked messages of tasks again, and retry runs of workflows.

A task that failed at its last attempt cannot be retried: its arguments are not kept. Publish it again with `sedano call`."""


@click.command(help=HELP)
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@changes
@of_app
def command(ids: tuple[str, ...]) -> int:
    """Run tasks or runs again."""
    from sedano.cli import retries

    return retries.retry(the_app(), ids, consent())
