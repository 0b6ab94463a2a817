"""`sedano workers`: the workers of the last three days."""

from __future__ import annotations

import click

from sedano.cli.options import of_app, of_list, the_app


@click.command(help="Show the workers of the last three days, with the tasks that they hold.")
@of_app
@of_list
def command(as_json: bool) -> None:
    """Show the workers of the last three days."""
    from sedano.cli import listings

    listings.workers(the_app(), as_json)
