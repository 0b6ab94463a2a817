"""`sedano cluster`: the workers, and the latest tasks.

sedano cluster
sedano cluster --latest 20 --json
"""

from __future__ import annotations

import click

from sedano.cli.options import as_json, of_app, the_app, whole

LATEST, DAYS = 50, 2


@click.command(help="Show the cluster now: its workers, and the latest tasks.")
@of_app
@click.option("--latest", type=whole(0), default=LATEST, metavar="N", help=f"Show N tasks; default: {LATEST}.")
@as_json
@click.option("--days", type=whole(1), default=DAYS, metavar="N", help=f"Count the tasks of N days, today included; default: {DAYS}.")
def command(latest: int, as_json: bool, days: int) -> None:
    """Show the cluster."""
    from sedano.cli.cluster_listing import show

    show(the_app().outlet.ports, latest, days, as_json)
