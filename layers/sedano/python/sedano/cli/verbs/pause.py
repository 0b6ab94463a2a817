"""`sedano pause NAME`: starts no tasks of a queue, task, tenant, circuit or schedule until `sedano resume NAME`."""

from __future__ import annotations

import click

from sedano.cli.options import changes, consent, of_app, seconds, the_app

KINDS = ["queue", "task", "tenant", "circuit", "id", "schedule"]


@click.command(help="Pause a queue, a task, a tenant, a circuit, one task by its id, or a schedule. Messages wait; running tasks continue.")
@click.argument("name")
@click.option("--kind", type=click.Choice(KINDS), help="The kind of NAME; needed for a tenant and an id, and if a name has two meanings.")
@click.option("--for", "span", type=seconds, metavar="SPAN", help="Resume after this time: 90, 90s, 5m, 2h or 3d.")
@changes
@of_app
def command(name: str, kind: str | None, span: float | None) -> int:
    """Make a pause."""
    from sedano.cli import operations

    return operations.pause(the_app(), name, kind, span, consent())
