"""`sedano polls`: the sources that are read at intervals."""

from __future__ import annotations

import click

from sedano.cli.options import of_app, of_list, the_app

HELP = """Show the polls: the cursor of each, how many items it has published, and how its last run ended.

`sedano pause poll.NAME` pauses one, and `sedano trigger poll.NAME` runs it now."""


@click.command(help=HELP)
@of_app
@of_list
def command(as_json: bool) -> None:
    """Show the polls."""
    from sedano.cli import listings

    listings.polls(the_app(), as_json)
