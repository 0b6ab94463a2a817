"""`sedano queues`: the command queues."""

from __future__ import annotations

import click

from sedano.cli.options import of_app, of_list, the_app


@click.command(help="Show the command queues: messages that wait and run, invocations allowed, paused or not.")
@of_app
@of_list
def command(as_json: bool) -> None:
    """Show the command queues."""
    from sedano.cli import listings

    listings.queues(the_app(), as_json)
