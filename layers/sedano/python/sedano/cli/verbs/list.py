"""`sedano list [QUERY]`: the latest tasks of the event history.

sedano list state:FAILURE name:shop.*
sedano list --state FAILURE --task shop.tasks.add
"""

from __future__ import annotations

import click

from sedano.cli.options import of_app, of_list, the_app, watched, whole

HELP = """Show the latest tasks of the event history. Reads the history of N days: one S3 GET for each of its objects.

QUERY narrows the list: state:FAILURE, name:shop.*, id:, queue:, worker:, error:ValueError, root:, parent:, tag:NAME=VALUE,
key:DEDUP_KEY, or a part of an id or a name. All parts must match. A key is also looked up in the ledger."""


@click.command(help=HELP)
@click.argument("query", metavar="[QUERY]...", nargs=-1)
@click.option("--state", metavar="STATE", help="Only tasks in this state, such as FAILURE or RETRY.")
@click.option("--task", "name", metavar="NAME", help="Only tasks of this name.")
@click.option("--days", type=whole(1), default=2, metavar="N", help="Read N days, today included; default: 2.")
@click.option("--limit", type=whole(1), default=50, metavar="N", help="Show N tasks; default: 50.")
@watched
@of_app
@of_list
def command(query: tuple[str, ...], state: str | None, name: str | None, days: int, limit: int, watch: bool, as_json: bool) -> None:
    """Show the latest tasks."""
    parts = [*query, *([f"state:{state}"] if state else []), *([f"name:{name}"] if name else [])]
    if watch:
        from sedano.cli import watching

        return watching.watch_tasks(the_app(), days=days, query=" ".join(parts), limit=limit, as_json=as_json)
    from sedano.cli import listings

    return listings.list_tasks(the_app(), days=days, query=" ".join(parts), limit=limit, as_json=as_json)
