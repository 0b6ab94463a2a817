"""`sedano discover`: what an app declares, and so what a deployment creates for it: queues, tasks, events.

    sedano discover --app shop.tasks:app --code src
    sedano discover --app shop.tasks:app --code src --json

The infrastructure calls `sedano.cli.declared`, which prints the same and does not need click.
"""

from __future__ import annotations

import click

from sedano.cli.options import as_json, of_app, settings, the_app


@click.command(help="Show what an app declares: queues, tasks, events, schedules, webhooks, streams, polls.")
@of_app
@as_json
def command(as_json: bool) -> None:
    """Show what the app declares."""
    from sedano.cli.declared import tell

    tell(the_app(), settings().code, as_json)
