"""`sedano circuits`: the circuits of the app's tasks."""

from __future__ import annotations

import click

from sedano.cli.options import of_app, of_list, the_app


@click.command(help="Show the circuits of the app's tasks: open or closed, since when, and the cause.")
@of_app
@of_list
def command(as_json: bool) -> None:
    """Show the circuits of the app's tasks."""
    from sedano.cli import listings

    listings.circuits(the_app(), as_json)
