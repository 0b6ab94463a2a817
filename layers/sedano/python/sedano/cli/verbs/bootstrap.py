"""`sedano bootstrap`: prepares the account and Region of the credentials for deployments, once.

It creates the stack `CDKToolkit` from the template of the CDK's own `cdk bootstrap`. An account that either command has prepared is not
changed, unless its version is older.
"""

from __future__ import annotations

import click

from sedano.cli.options import changes
from sedano.cli.verbs.staged import asked, of_stage


@click.command(help="Prepare an AWS account and Region for deployments, once.")
@click.option("--policy", "policies", multiple=True, metavar="ARN", help="Rights of deployments; default: AdministratorAccess.")
@of_stage
@changes
def command(policies: tuple[str, ...], given: tuple[str, ...]) -> int:
    """Prepare the account."""
    from sedano.cli import stage_stacks

    return stage_stacks.bootstrap(asked(given), policies)
