"""`sedano throughput`: runs, failure rates, durations and costs of a window."""

from __future__ import annotations

import click

from sedano.cli.options import of_app, of_list, the_app

HELP = """Show what got done in a window: runs, failed and retried ones, durations, waits and costs by task.

It reads the sums that the recorder wrote, and no event: an hour is one query, whatever the number of tasks.
The window ends a minute ago."""
WINDOWS = ("1h", "6h", "24h", "7d")


@click.command(help=HELP)
@click.option("--last", "window", type=click.Choice(WINDOWS), default="1h", show_default=True, help="The length of the window.")
@of_app
@of_list
def command(window: str, as_json: bool) -> None:
    """Show what got done."""
    from sedano.cli import listings

    listings.throughput(the_app(), window, as_json)
