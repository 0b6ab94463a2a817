"""`sedano broadcast VERB [ARGUMENT]`: a signed command to all workers, or to one, and their answers."""

from __future__ import annotations

import click

from sedano.cli.options import changes, consent, of_app, seconds, the_app

HELP = """Send a signed command to all workers, or to one, and print their answers.

All obey ping, stats, stacks, expired, reload, check_health NAME and log LEVEL SECONDS. Workers that are processes also obey drain, pause,
resume, retry_boot, concurrency N and terminate TASK_ID."""


@click.command(help=HELP)
@click.argument("verb")
@click.argument("argument", nargs=-1)
@click.option("--to", metavar="WORKER", help="Send it to this worker only; `sedano workers` lists the names.")
@click.option("--wait", type=seconds, metavar="SPAN", default="3", show_default=True, help="Wait for answers: 90, 90s, 5m, 2h or 3d.")
@changes
@of_app
def command(verb: str, argument: tuple[str, ...], to: str | None, wait: float) -> int:
    """Send a command to workers."""
    from sedano.cli import operations

    return operations.broadcast(the_app(), verb, " ".join(argument), to, wait, consent())
