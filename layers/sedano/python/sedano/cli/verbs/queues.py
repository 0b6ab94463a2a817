"""`sedano queues`: the command queues."""

from __future__ import annotations

import click

from sedano.cli.options import of_app, of_list, the_app

HELP = """Show the command queues: messages that wait and run, invocations allowed, paused or not.

--tenants shows the tenants of the last hour instead: their tasks, their share of each queue's time, how long their tasks waited, and which
one is noisy. It reads the event history, where a task appears within a minute."""


@click.command(help=HELP)
@click.option("--tenants", is_flag=True, help="Show the tenants of the queues.")
@of_app
@of_list
def command(tenants: bool, as_json: bool) -> None:
    """Show the command queues."""
    from sedano.cli import listings

    listings.queues(the_app(), tenants, as_json)
