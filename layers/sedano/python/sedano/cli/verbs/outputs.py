"""`sedano outputs`: prints the variables with which a program finds a stage.

    eval "$(sedano outputs --stage dev)"
"""

from __future__ import annotations

import click

from sedano.cli.options import as_json
from sedano.cli.verbs.staged import asked, of_stage


@click.command(help="Print the variables with which a program finds a stage, as shell commands.")
@of_stage
@as_json
def command(given: tuple[str, ...], as_json: bool) -> int:
    """Print the variables."""
    from sedano.cli import stage_stacks

    return stage_stacks.outputs(asked(given, as_json=as_json))
