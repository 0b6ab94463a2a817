"""`sedano workers`: the workers of the last three days."""

from __future__ import annotations

import click

from sedano.cli.options import as_json, of_app, the_app


@click.command(help="Show the workers of the last three days, with the tasks that they hold.")
@of_app
@as_json
def command(as_json: bool) -> None:
    """Show the workers of the last three days."""
    from sedano.cli import listings

    listings.workers(the_app(), as_json)
