"""`sedano logs`: prints the log lines of a stage's functions, and follows them.

    sedano logs --follow
    sedano logs --since 2h --function worker
"""

from __future__ import annotations

import click

from sedano.cli.options import as_json
from sedano.cli.verbs.staged import asked, of_stage


@click.command(help="Print the log lines of a stage's functions.")
@click.option("--follow", "-f", is_flag=True, help="Continue until Ctrl-C.")
@click.option("--since", default="10m", metavar="TIME", show_default=True, help="Begin this long ago: 90s, 10m, 2h, 1d.")
@click.option("--function", "functions", multiple=True, metavar="NAME", help="Only lines of this function, such as worker.")
@of_stage
@as_json
def command(follow: bool, since: str, functions: tuple[str, ...], given: tuple[str, ...], as_json: bool) -> int:
    """Print the log lines."""
    from sedano.cli import stage_stacks

    return stage_stacks.show_logs(asked(given, as_json=as_json), since, follow, functions)
