"""`sedano diff`: shows the changes that `sedano deploy` would make, and the monthly cost."""

from __future__ import annotations

import click

from sedano.cli.options import as_json
from sedano.cli.verbs.staged import asked, of_stage


@click.command(help="Show the changes that a deployment would make: a line for each stack, and each resource that would lose its contents.")
@click.option("--all", "every", is_flag=True, help="A line for each resource.")
@of_stage
@as_json
def command(every: bool, given: tuple[str, ...], as_json: bool) -> int:
    """Show the changes."""
    from sedano.cli import stage_stacks

    return stage_stacks.diff(asked(given, as_json=as_json), every)
