"""`sedano top`: a stage on the terminal, read again while it changes.

sedano top
sedano top failures --days 7
"""

from __future__ import annotations

import click

from sedano.cli.options import as_json, of_app, the_app, whole

SCREENS = ("now", "tasks", "failures", "throughput", "queues", "schedules", "workers", "locks", "circuits", "events", "changes", "cost")
HELP = """Show a stage on the terminal: the things that need you, tasks, failures, queues, schedules, workers, locks,
circuits, events, changes, costs.

Keys change the screen; ? lists them. It reads every 2 s while the stage changes, and every 30 s otherwise. The last line shows the number
of reads of the screen and their price.

With --json it prints the screen as one line of JSON, and again whenever it has changed, until Ctrl-C."""


@click.command(help=HELP)
@click.argument("screen", type=click.Choice(SCREENS), default="now")
@click.option("--days", type=whole(1), default=2, metavar="N", help="Read the history of N days, today included; default: 2.")
@click.option("--hide", is_flag=True, help="Hide results and error messages.")
@as_json
@of_app
def command(screen: str, days: int, hide: bool, as_json: bool) -> int:
    """Show the stage until `q`."""
    from sedano.cli.live_screens import run, stream
    from sedano.views.panels import ScreenQuery

    asked = ScreenQuery(screen, days=days, redact=hide)
    return stream(the_app(), asked) if as_json else run(the_app(), asked)
