"""`sedano workers`: the workers of the last three days."""

from __future__ import annotations

import click

from sedano.cli.options import of_app, of_list, the_app


@click.command(help="Show what runs where: the workers of three days, their hosts, queues, versions, state and tasks.")
@of_app
@of_list
def command(as_json: bool) -> None:
    """Show the workers of the last three days."""
    from sedano.cli import listings

    listings.workers(the_app(), as_json)
