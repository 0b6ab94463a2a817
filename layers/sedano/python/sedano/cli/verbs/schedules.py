"""`sedano schedules [NAME]`: the periodic tasks, or the next moments of one."""

from __future__ import annotations

import click

from sedano.cli.options import of_app, of_list, the_app, whole


@click.command(help="Show the periodic tasks; with NAME the next moments of one. `sedano pause NAME` pauses it.")
@click.argument("name", required=False)
@click.option("--next", "number", type=whole(1), default=5, metavar="N", help="Show N moments; default: 5.")
@of_app
@of_list
def command(name: str | None, number: int, as_json: bool) -> None:
    """Show the periodic tasks."""
    from sedano.cli import listings

    listings.schedules(the_app(), name, number, as_json)
