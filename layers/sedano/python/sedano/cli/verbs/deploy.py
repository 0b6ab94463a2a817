"""`sedano deploy`: deploys the app of the working directory to a stage on AWS.

    sedano deploy
    sedano deploy --stage prod --set memory=1024

It shows the changes and the monthly cost and asks; `--yes` answers. At the end it runs a task that does nothing on the stage.
The first deployment prepares the account (`sedano bootstrap`) and makes an environment for the AWS CDK in the user's cache.
"""

from __future__ import annotations

import click

from sedano.cli.options import changes
from sedano.cli.verbs.staged import asked, of_stage


@click.command(help="Deploy the app to a stage on AWS. Shows the changes and the monthly cost, and asks.")
@click.option("--no-trial", is_flag=True, help="Run no task on the stage at the end.")
@of_stage
@changes
def command(no_trial: bool, given: tuple[str, ...]) -> int:
    """Deploy the stage."""
    from sedano.cli import stage_stacks

    return stage_stacks.deploy(asked(given), try_it=not no_trial)
