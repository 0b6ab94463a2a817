"""`sedano trace ID`: a canvas as one tree of spans over queues, holds, attempts, retries and bodies."""

from __future__ import annotations

import click

from sedano.cli.options import as_json, of_app, the_app, whole

HELP = """Show the canvas of a task as one tree of spans: what each task waited for, each attempt, its body, and what it published.

ID is any task of the canvas. Bars are compressed where nothing ran; BEGIN and TOOK are the real seconds."""


@click.command(help=HELP)
@click.argument("task_id", metavar="ID")
@click.option("--days", type=whole(1), default=2, metavar="N", help="Read N days of the history, today included; default: 2.")
@of_app
@as_json
def command(task_id: str, days: int, as_json: bool) -> int:
    """Show the trace."""
    from sedano.cli.span_bars import show

    return show(the_app(), task_id, days, as_json)
