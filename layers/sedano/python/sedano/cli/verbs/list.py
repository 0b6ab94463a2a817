"""`sedano list [QUERY]`: the latest tasks of the event history.

sedano list state:FAILURE name:shop.*
sedano list --state FAILURE --task shop.tasks.add
"""

from __future__ import annotations

import click

from sedano.cli.options import of_app, of_list, the_app, whole

HELP = """Show the latest tasks of the event history. Reads the history of N days: one S3 GET for each of its objects.

QUERY narrows the list: state:FAILURE, name:shop.*, id:, queue:, worker:, error:ValueError, root:, parent:, tag:NAME=VALUE, or a part of
an id or a name. All parts must match."""


@click.command(help=HELP)
@click.argument("query", metavar="[QUERY]...", nargs=-1)
@click.option("--state", metavar="STATE", help="Only tasks in this state, such as FAILURE or RETRY.")
@click.option("--task", "name", metavar="NAME", help="Only tasks of this name.")
@click.option("--days", type=whole(1), default=2, metavar="N", help="Read N days, today included; default: 2.")
@click.option("--limit", type=whole(1), default=50, metavar="N", help="Show N tasks; default: 50.")
@of_app
@of_list
def command(query: tuple[str, ...], state: str | None, name: str | None, days: int, limit: int, as_json: bool) -> None:
    """Show the latest tasks."""
    from sedano.cli import listings

    parts = [*query, *([f"state:{state}"] if state else []), *([f"name:{name}"] if name else [])]
    listings.list_tasks(the_app(), days=days, query=" ".join(parts), limit=limit, as_json=as_json)
