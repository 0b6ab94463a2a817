"""`sedano scale QUEUE N`: how many bodies of a queue run at once, in all its processes and on Lambda together.

sedano scale mail 40 --reason "campaign"
sedano scale mail --restore
"""

from __future__ import annotations

import click

from sedano.cli.options import changes, consent, of_app, the_app

HELP = """Let a queue have N bodies at once, all its hosts together. Processes divide it; Lambda has what they leave.

The wish stays through deployments, until --restore. The number of processes stays as it is."""


@click.command(help=HELP)
@click.argument("queue")
@click.argument("number", required=False, type=int, metavar="[N]")
@click.option("--restore", is_flag=True, help="Take the wish back: as many as its hosts were started with.")
@changes
@of_app
def command(queue: str, number: int | None, restore: bool) -> int:
    """Scale a queue."""
    if restore == (number is not None):
        raise click.UsageError("scale to what? give a number of bodies at once, or --restore")
    from sedano.cli import operations

    return operations.scale(the_app(), queue, number, consent())
