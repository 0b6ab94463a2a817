"""`sedano deployed [VERSION]`: marks the moment of a deployment that another tool made.

sedano deployed v42 --stage prod --yes
"""

from __future__ import annotations

import click

from sedano.cli.options import changes, consent, of_app, the_app

HELP = """Mark this moment as that of a deployment of new code, for `sedano failures --new` and the pages.

`sedano deploy` does so itself. Run this after a deployment by another tool, such as `cdk deploy`."""


@click.command(help=HELP)
@click.argument("version", required=False, default="")
@changes
@of_app
def command(version: str) -> int:
    """Mark a deployment."""
    from sedano.cli import operations

    return operations.deployed(the_app(), version, consent())
