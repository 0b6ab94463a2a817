"""`sedano timers`: lists and deletes foreign schedules in the group of the stage's timers.

    sedano timers foreign
    sedano timers foreign NAME … --delete
    sedano timers foreign --delete

A worker's role may create schedules in that group, and IAM cannot restrict their kind. A compromised worker could leave a schedule that
recurs or has another target. `foreign` shows each schedule that sedano did not make, with the reasons; `--delete` deletes the named ones,
or all of them. It makes one call for each schedule of the group.
"""

from __future__ import annotations

import click

from sedano.cli.options import changes, consent, of_app, of_table, the_app


@click.group(help="The schedules in the group of the stage's timers.")
@of_app
def command() -> None:
    """Take the options that are given before the subcommand."""


@command.command(help="Show the schedules that are not timers, and why. Makes one call for each schedule of the group.")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--delete", is_flag=True, help="Delete them, after asking.")
@changes
@of_table
@of_app
def foreign(names: tuple[str, ...], delete: bool) -> int:
    """Show or delete foreign schedules."""
    from sedano.cli import foreign_schedules

    return foreign_schedules.foreign(the_app(), names, delete, consent())
