"""`sedano workers`: the workers of the last three days."""

from __future__ import annotations

import click

from sedano.cli.options import of_app, of_list, the_app


@click.command(help="Show what runs where: the workers of three days, their hosts, queues, versions, state and tasks.")
@click.option("--active", is_flag=True, help="Show the tasks that run now, by worker.")
@of_app
@of_list
def command(as_json: bool, active: bool) -> None:
    """Show the workers of the last three days, or the tasks that run now."""
    from sedano.cli import listings

    (listings.active if active else listings.workers)(the_app(), as_json)
