"""`sedano cost`: the cost of a stage at list prices, or of the tasks in the event history.

    sedano cost --stage prod
    sedano cost cdk.out --json
    sedano cost --history build/history

It prints the reckoning that `sedano deploy` sums up in a sentence, and the table `cost` of the history job. It calls no AWS service, except
to read a history in S3.
"""

from __future__ import annotations

from pathlib import Path

import click

from sedano.cli.options import as_json
from sedano.cli.verbs.staged import asked, of_stage

HELP = """Print the cost of a stage at list prices, from its templates: an idle month, and a million tasks.

ASSEMBLY is a folder that the CDK made; without it the templates of the stage are made first. --history prints the cost of each task that
the event history holds instead, and needs Spark."""


@click.command(help=HELP)
@click.argument("assembly", required=False, type=click.Path(path_type=Path))
@click.option("--history", "place", metavar="PLACE", help="Of the tasks in this history: a folder or s3://bucket/prefix.")
@of_stage
@as_json
def command(assembly: Path | None, place: str | None, given: tuple[str, ...], as_json: bool) -> int:
    """Print costs."""
    if assembly is not None and place is not None:
        raise click.UsageError("ASSEMBLY and --history exclude each other; give one of them")
    from sedano.cli import cost

    options = asked(given, as_json=as_json)
    return cost.of_stage(options, assembly) if place is None else cost.of_history(place, as_json=as_json)
