"""`sedano top`: a stage on the terminal, read again while it changes.

sedano top
sedano top failures --days 7
"""

from __future__ import annotations

import click

from sedano.cli.options import of_app, the_app, whole

SCREENS = ("now", "tasks", "failures", "queues", "schedules", "workers", "locks", "circuits", "events", "cost")
HELP = """Show a stage on the terminal: the things that need you, tasks, failures, queues, schedules, workers, locks,
circuits, events, costs.

Keys lead from screen to screen; ? lists them. It reads every 2 s while something changes, and every 30 s when nothing does. The last line
shows the reads of the screen and their price."""


@click.command(help=HELP)
@click.argument("screen", type=click.Choice(SCREENS), default="now")
@click.option("--days", type=whole(1), default=2, metavar="N", help="Read the history of N days, today included; default: 2.")
@click.option("--hide", is_flag=True, help="Hide results and messages of errors.")
@of_app
def command(screen: str, days: int, hide: bool) -> int:
    """Show the stage until `q`."""
    from sedano.cli.live_screens import run
    from sedano.views.panels import ScreenQuery

    return run(the_app(), ScreenQuery(screen, days=days, redact=hide))
