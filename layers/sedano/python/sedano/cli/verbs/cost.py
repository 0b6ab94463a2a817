"""`sedano cost`: the cost of a stage at list prices, or of the tasks in the event history.

    sedano cost --stage prod
    sedano cost cdk.out --json
    sedano cost --days 2
    sedano cost --history build/history

It prints the calculation that `sedano deploy` summarises, and calls no AWS service for it. The cost of tasks comes from the event
history of the stage, or from the table `cost` of the history job.
"""

from __future__ import annotations

from pathlib import Path

import click

from sedano.cli.options import as_json, the_app, whole
from sedano.cli.verbs.staged import asked, of_stage

HELP = """Print the cost of a stage at list prices, from its templates: an idle month, and a million tasks.

ASSEMBLY is a folder that the CDK made; without it the templates of the stage are made first. --days prints the cost of the tasks in the
event history of the last days instead. --history does so for a history of any size that the history job has built, and needs Spark."""


@click.command(help=HELP)
@click.argument("assembly", required=False, type=click.Path(path_type=Path))
@click.option("--days", type=whole(1), metavar="N", help="Cost of the tasks of the last N days, today included.")
@click.option("--history", "place", metavar="PLACE", help="Cost of the tasks in this history: a folder or s3://bucket/prefix.")
@of_stage
@as_json
def command(assembly: Path | None, place: str | None, days: int | None, given: tuple[str, ...], as_json: bool) -> int:
    """Print costs."""
    if sum(one is not None for one in (assembly, place, days)) > 1:
        raise click.UsageError("ASSEMBLY, --days and --history exclude each other; give one of them")
    from sedano.cli import cost_tables

    if days is not None:
        return cost_tables.of_tasks(the_app(), days, as_json=as_json)
    options = asked(given, as_json=as_json)
    return cost_tables.of_stage(options, assembly) if place is None else cost_tables.of_history(place, as_json=as_json)
