"""`sedano tail`: the latest events of the history, in causal order.

    sedano tail
    sedano tail task-failed --follow
    sedano tail 0c7f1b54 --json

Each time it reads the history of whole days, with one S3 GET for each object of the recorder, and prints the number of its reads.
"""

from __future__ import annotations

import click

from sedano.cli.options import of_app, of_list, seconds, the_app, whole

HELP = """Show the latest events of the history in causal order, and with --follow the new ones.

WANTED is a type such as task-failed, the id of a task, or its name. An event is in the history up to 60 s after it occurred."""


@click.command(help=HELP)
@click.argument("wanted", nargs=-1, metavar="[WANTED]...")
@click.option("-f", "--follow", is_flag=True, help="Read again periodically, until Ctrl-C.")
@click.option("--every", type=seconds, default="60", metavar="SPAN", help="Time between two reads; default: 60 s.")
@click.option("--for", "span", type=seconds, metavar="SPAN", help="Follow for this time: 90, 90s, 5m, 2h or 3d.")
@click.option("--days", type=whole(1), default=1, metavar="N", help="Read N days, today included; default: 1.")
@click.option("--limit", type=whole(1), default=50, metavar="N", help="Begin with the latest N events; default: 50.")
@of_app
@of_list
def command(wanted: tuple[str, ...], follow: bool, every: float, span: float | None, days: int, limit: int, as_json: bool) -> None:
    """Show events."""
    if every < 1:
        raise click.UsageError("--every: give one second or more, because each read covers the history of whole days")
    from sedano.cli.latest_events import TailOptions, tail

    asked = TailOptions(
        wanted=wanted, limit=limit, days=days, follow=follow or span is not None, every=every, seconds=span, as_json=as_json,
    )  # fmt: skip
    tail(the_app(), asked)
