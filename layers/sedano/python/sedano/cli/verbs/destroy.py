"""`sedano destroy`: deletes a stage with all its contents, except data that its templates keep, as those of production do."""

from __future__ import annotations

import click

from sedano.cli.options import changes
from sedano.cli.verbs.staged import asked, of_stage


@click.command(help="Delete a stage with all its contents. The data of production is kept.")
@of_stage
@changes
def command(given: tuple[str, ...]) -> int:
    """Delete the stage."""
    from sedano.cli import stage_stacks

    return stage_stacks.destroy(asked(given))
