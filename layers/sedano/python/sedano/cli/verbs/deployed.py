"""`sedano deployed [VERSION]`: records a deployment that another tool made.

sedano deployed v42 --stage prod --yes
"""

from __future__ import annotations

import click

from sedano.cli.options import changes, consent, of_app, the_app

HELP = """Record that new code was deployed now, for `sedano failures --new` and the pages.

`sedano deploy` records its deployments itself. Run this after a deployment by another tool, such as `cdk deploy`."""


@click.command(help=HELP)
@click.argument("version", required=False, default="")
@changes
@of_app
def command(version: str) -> int:
    """Record a deployment."""
    from sedano.cli import operations

    return operations.deployed(the_app(), version, consent())
