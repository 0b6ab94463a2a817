"""`sedano purge QUEUE`: deletes the messages that wait in a queue."""

from __future__ import annotations

import click

from sedano.cli.options import changes, consent, of_app, the_app


@click.command(help="Delete the messages that wait in a queue; the queue of parked messages is called parked.")
@click.argument("queue")
@changes
@of_app
def command(queue: str) -> int:
    """Delete the messages of a queue."""
    from sedano.cli import operations

    return operations.purge(the_app(), queue, consent())
