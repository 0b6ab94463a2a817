"""`sedano call NAME [ARG]...`: publish a task.

sedano call shop.tasks.add 2 3
sedano call add -k a=2 -k b=3 --wait
sedano call report --in 5m --dry-run
"""

from __future__ import annotations

from datetime import datetime

import click

from sedano.cli.options import as_json, of_app, seconds, the_app

HELP = """Publish a task and print its id.

NAME is the task's name, or its end if only one task's name ends in it. Each ARG is read as JSON if possible, else as a string; it stays a
string if the task takes a string."""


@click.command(help=HELP)
@click.argument("name")
@click.argument("args", nargs=-1, metavar="[ARG]...")
@click.option("-k", "kwargs", multiple=True, metavar="NAME=VALUE", help="A keyword argument; may be given several times.")
@click.option("--json-args", is_flag=True, help="Refuse a value that is not JSON.")
@click.option("--in", "countdown", type=seconds, metavar="SPAN", help="Run it after this time: 90, 90s, 5m, 2h or 3d.")
@click.option("--eta", metavar="TIME", help="Run it at this time, such as 2027-01-31T08:00:00Z.")
@click.option("--queue", help="Send it to this queue of the app.")
@click.option("--task-id", metavar="ID", help="The task's id; the same id is the same task.")
@click.option("--wait", is_flag=True, help="Wait for the result and print it as JSON.")
@click.option("--timeout", type=seconds, default="30", metavar="SPAN", help="The longest time to wait; default: 30.")
@click.option("--dry-run", is_flag=True, help="Check the arguments and print the call; publish nothing.")
@of_app
@as_json
def command(
    name: str, args: tuple[str, ...], kwargs: tuple[str, ...], json_args: bool, countdown: float | None, eta: str | None,
    queue: str | None, task_id: str | None, wait: bool, timeout: float, dry_run: bool, as_json: bool,
) -> int:  # fmt: skip
    """Publish a task."""
    if eta and countdown is not None:
        raise click.UsageError("--in and --eta exclude each other; give one of them")
    given = {"countdown": countdown, "eta": _moment(eta) if eta else None, "queue": queue, "task_id": task_id}
    from sedano.cli import calls

    options = {option: value for option, value in given.items() if value is not None}
    asked = calls.Asked(name=name, args=args, kwargs=kwargs, is_strict=json_args, options=options, as_json=as_json)
    return calls.call(the_app(), asked, dry_run=dry_run, wait=wait, timeout=timeout)


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise click.UsageError(f"--eta: {text} is not a time with a zone; write it as 2027-01-31T08:00:00Z")
    return moment
