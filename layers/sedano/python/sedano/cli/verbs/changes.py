"""`sedano changes`: the changes of a stage, with who made them, how, and why."""

from __future__ import annotations

import click

from sedano.cli.options import of_app, of_list, the_app, whole

HELP = """Show the changes that people made to the stage, the latest first: who, when, what, how many, and the reason.

It reads the event history, where a change appears within a minute. Changes made by code are not listed."""


@click.command(help=HELP)
@click.option("--days", type=whole(1), default=7, metavar="N", help="Read N days, today included; default: 7.")
@of_app
@of_list
def command(days: int, as_json: bool) -> None:
    """Show changes."""
    from sedano.cli import listings

    listings.list_changes(the_app(), days=days, as_json=as_json)
