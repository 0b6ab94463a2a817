"""`sedano check`: checks an app without AWS.

    sedano check
    sedano check --stage prod --strict
    sedano check --deploy

It imports the app and looks at the options of its tasks, its queues, the next moments of its schedules, changes of the clocks, sizes of
arguments, and names. `--deploy` makes the templates too, with the code of `sedano deploy`, so it finds every refusal of a deployment.
"""

from __future__ import annotations

import click

from sedano.cli.options import as_json, of_colour
from sedano.cli.verbs.staged import asked, of_stage

HELP = """Check the app without AWS: tasks, queues, schedules and clock changes, sizes of arguments, names.

Exits with 6 if there is a fault."""


@click.command(help=HELP)
@click.option("--deploy", is_flag=True, help="Make the templates too, as a deployment does; the first time this downloads the AWS CDK.")
@click.option("--strict", is_flag=True, help="Exit with 6 for a warning as well.")
@of_stage
@as_json
@of_colour
def command(deploy: bool, strict: bool, given: tuple[str, ...], as_json: bool) -> int:
    """Check the app."""
    from sedano.cli.offline_checks import check

    found = asked(given, as_json=as_json)
    return check(found.settings, found.given, deploy=deploy, strict=strict, as_json=as_json)
