"""`sedano destroy`: deletes a stage with all it holds, except for data that its templates keep, as those of production do."""

from __future__ import annotations

import click

from sedano.cli.options import as_json
from sedano.cli.verbs.staged import asked, of_stage
from sedano.cli.verbs.staged import yes as yes_option


@click.command(help="Delete a stage with all it holds. The data of production is kept.")
@of_stage
@yes_option
@as_json
def command(given: tuple[str, ...], yes: bool, as_json: bool) -> int:
    """Delete the stage."""
    from sedano.cli import deploy

    return deploy.destroy(asked(given, yes=yes, as_json=as_json))
