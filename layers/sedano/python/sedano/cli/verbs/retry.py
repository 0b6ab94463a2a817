"""`sedano retry ID...`: sends parked messages again, and runs failed tasks and workflow runs again.

sedano retry ID --args '[120, "CHF"]'
sedano retry --query "name:shop.tasks.convert error:KeyError"
"""

from __future__ import annotations

import click

from sedano.cli.options import by_search, changes, consent, of_app, the_app

HELP = """Send parked messages of tasks again, run failed tasks again, and retry runs of workflows.

A task that has ended runs again with its arguments, as a new task: its id is derived from the first one, and printed. The new task runs
once, however often you retry the first one. The tasks after it in a canvas do not run again.

--query QUERY runs all failed tasks again that a search of the event history finds, as `sedano list QUERY` shows them."""


@click.command(help=HELP)
@click.argument("ids", metavar="[ID]...", nargs=-1)
@click.option("--args", metavar="JSON", help="Run one ended task again with these positional arguments, such as '[1, \"x\"]'.")
@click.option("--kwargs", metavar="JSON", help="Run one ended task again with these keyword arguments, such as '{\"n\": 1}'.")
@by_search
@changes
@of_app
def command(ids: tuple[str, ...], args: str | None, kwargs: str | None, query: str | None, days: int, most: int) -> int:
    """Run tasks or runs again."""
    if bool(ids) == bool(query):
        raise click.UsageError("retry what? give ids, or --query QUERY")
    is_edited = args is not None or kwargs is not None
    if is_edited and len(ids) != 1:
        raise click.UsageError("--args and --kwargs apply to one task; give one id")
    from sedano.cli import retries

    if is_edited:
        return retries.retry_edited(the_app(), ids[0], args, kwargs, consent())
    if query:
        return retries.retry_search(the_app(), query, days, most, consent())
    return retries.retry(the_app(), ids, consent())
