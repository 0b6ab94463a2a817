"""`sedano resume NAME`: ends `sedano pause NAME`."""

from __future__ import annotations

import click

from sedano.cli.options import changes, consent, of_app, the_app
from sedano.cli.verbs.pause import KINDS


@click.command(help="End a pause; close a shared circuit that is open. Exits with 5 if NAME is not paused.")
@click.argument("name")
@click.option("--kind", type=click.Choice(KINDS), help="The kind of NAME; needed for a tenant and an id, and if a name has two meanings.")
@changes
@of_app
def command(name: str, kind: str | None) -> int:
    """End a pause."""
    from sedano.cli import operations

    return operations.resume(the_app(), name, kind, consent())
