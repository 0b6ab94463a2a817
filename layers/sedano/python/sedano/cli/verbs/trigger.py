"""`sedano trigger SCHEDULE`: runs a schedule now, in addition to its timetable."""

from __future__ import annotations

import click

from sedano.cli.options import changes, consent, of_app, the_app


@click.command(help="Run a schedule now, once, in addition to its timetable, even if it is paused. Prints the id of the occurrence.")
@click.argument("schedule")
@changes
@of_app
def command(schedule: str) -> int:
    """Run a schedule now."""
    from sedano.cli import operations

    return operations.trigger(the_app(), schedule, consent())
