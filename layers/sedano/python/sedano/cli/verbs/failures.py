"""`sedano failures`: the failed tasks, by task, error and place."""

from __future__ import annotations

import click

from sedano.cli.options import of_app, of_list, the_app, whole

HELP = """Show failed tasks by task, error and place, the most frequent first.

It reads the ledger's index of failures: a few queries a day. Failures of tasks that leave no record are read from the history."""


@click.command(help=HELP)
@click.option("--days", type=whole(1), default=2, metavar="N", help="Read N days, today included; default: 2.")
@click.option("--fail", is_flag=True, help="Exit with 6 if there are any.")
@of_app
@of_list
def command(days: int, fail: bool, as_json: bool) -> int:
    """Show failed tasks."""
    from sedano.cli import listings

    return listings.list_failures(the_app(), days=days, as_json=as_json, fail_on=fail)
