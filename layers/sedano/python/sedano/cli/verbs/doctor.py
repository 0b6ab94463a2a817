"""`sedano doctor`: checks this machine and the stage, and names the remedy of each fault.

    sedano doctor
    sedano doctor --stage prod --strict
    sedano doctor --local

Each line is `ok`, `warning` or `fault`, with its remedy. It changes nothing. Besides the calls for the stacks, it makes one call for each
queue and table.
"""

from __future__ import annotations

import click

from sedano.cli.options import as_json, of_colour
from sedano.cli.verbs.staged import asked, of_stage

HELP = """Check this machine and the stage: Python, packages, settings, app, credentials, clock, stacks, versions, queues and tables.

Exits with 6 if there is a fault."""


@click.command(help=HELP)
@click.option("--local", is_flag=True, help="Check only this machine; call no AWS service.")
@click.option("--strict", is_flag=True, help="Exit with 6 for a warning as well.")
@of_stage
@as_json
@of_colour
def command(local: bool, strict: bool, given: tuple[str, ...], as_json: bool) -> int:
    """Check the machine and the stage."""
    from sedano.cli.stage_findings import doctor

    return doctor(asked(given, as_json=as_json).settings, local=local, strict=strict, as_json=as_json)
