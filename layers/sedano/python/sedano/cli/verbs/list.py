"""`sedano list`: the latest tasks of the event history.

sedano list --state FAILURE --task shop.tasks.add
"""

from __future__ import annotations

import click

from sedano.cli.options import as_json, of_app, the_app, whole


@click.command(help="Show the latest tasks of the event history. Reads the history of N days: one S3 GET for each of its objects.")
@click.option("--state", metavar="STATE", help="Only tasks in this state, such as FAILURE or RETRY.")
@click.option("--task", "name", metavar="NAME", help="Only tasks of this name.")
@click.option("--days", type=whole(1), default=2, metavar="N", help="Read N days, today included; default: 2.")
@click.option("--limit", type=whole(1), default=50, metavar="N", help="Show N tasks; default: 50.")
@of_app
@as_json
def command(state: str | None, name: str | None, days: int, limit: int, as_json: bool) -> None:
    """Show the latest tasks."""
    from sedano.cli import listings

    listings.list_tasks(the_app(), days=days, state=state and state.upper(), name=name, limit=limit, as_json=as_json)
