"""`sedano redrive`: sends parked messages to their queues again.

sedano redrive --queue mail --dry-run
sedano redrive --why unknown-task --yes
"""

from __future__ import annotations

import click

from sedano.cli.options import changes, consent, of_app, the_app, whole
from sedano.cli.verbs.parked import MOST


@click.command(help="Send parked messages to their queues again: those of one queue, of one reason code, or all.")
@click.option("--queue", metavar="QUEUE", help="Only messages that came from this queue.")
@click.option("--why", metavar="CODE", help="Only messages that were parked for this reason, such as unknown-task.")
@click.option("--all", "everything", is_flag=True, help="Every parked message.")
@click.option("--most", type=whole(1), default=MOST, metavar="N", help=f"Read N messages; default: {MOST}.")
@changes
@of_app
def command(queue: str | None, why: str | None, everything: bool, most: int) -> int:
    """Send parked messages again."""
    if everything == bool(queue or why):
        raise click.UsageError("redrive what? give --queue or --why, or --all")
    from sedano.cli import parked_messages

    return parked_messages.redrive_asked(the_app(), queue, why, most, consent())
