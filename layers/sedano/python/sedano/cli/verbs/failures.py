"""`sedano failures`: the failed tasks, by task, error and place."""

from __future__ import annotations

import click

from sedano.cli.options import of_app, of_list, the_app, watched, whole

HELP = """Show failed tasks by task, error and place, the most frequent first.

It reads the ledger's index of failures with a few queries per day. Failures of tasks without a record are read from the history.

--new shows only causes that did not occur, in the days that are read, before the last deployment (`sedano deploy` or `sedano deployed`)."""


@click.command(help=HELP)
@click.option("--days", type=whole(1), default=2, metavar="N", help="Read N days, today included; default: 2.")
@click.option("--new", is_flag=True, help="Only causes that are new since the last deployment.")
@click.option("--fail", is_flag=True, help="Exit with 6 if there are any.")
@watched
@of_app
@of_list
def command(days: int, new: bool, fail: bool, watch: bool, as_json: bool) -> int:
    """Show failed tasks."""
    if watch and fail:
        raise click.UsageError("--watch ends with Ctrl-C and never fails; leave out --fail, or --watch")
    if watch:
        from sedano.cli import watching

        watching.watch_failures(the_app(), days=days, only_new=new, as_json=as_json)
        return 0
    from sedano.cli import listings

    return listings.list_failures(the_app(), days=days, only_new=new, as_json=as_json, fail_on=fail)
