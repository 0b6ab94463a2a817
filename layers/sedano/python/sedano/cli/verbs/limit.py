"""`sedano limit TASK`: changes at run time how often, and how many at a time, a task runs."""

from __future__ import annotations

import click

from sedano.cli.options import changes, consent, of_app, the_app


@click.command(help="Change how often and how many at a time a task runs. The change survives deployments, until --restore.")
@click.argument("task")
@click.option("--rate", metavar="RATE", help="How often the task starts, such as 10/s or 200/m; none lifts the limit.")
@click.option("--concurrency", metavar="N", help="How many runs at a time; 0 suspends the task, none lifts the limit.")
@click.option("--restore", is_flag=True, help="Restore all limits to those declared in code.")
@changes
@of_app
def command(task: str, rate: str | None, concurrency: str | None, restore: bool) -> int:
    """Change limits."""
    if restore == (rate is not None or concurrency is not None):
        raise click.UsageError("limit what? give --rate or --concurrency, or --restore")
    from sedano.cli import operations

    return operations.limit(the_app(), task, rate, concurrency, restore, consent())
