"""`sedano failures`: the failed tasks of the event history, by task and error."""

from __future__ import annotations

import click

from sedano.cli.options import of_app, of_list, the_app, whole


@click.command(help="Show failed tasks by task and error, the most frequent first. Reads the history of N days, as list does.")
@click.option("--days", type=whole(1), default=2, metavar="N", help="Read N days, today included; default: 2.")
@click.option("--fail", is_flag=True, help="Exit with 6 if there are any.")
@of_app
@of_list
def command(days: int, fail: bool, as_json: bool) -> int:
    """Show failed tasks."""
    from sedano.cli import listings

    return listings.list_failures(the_app(), days=days, as_json=as_json, fail_on=fail)
