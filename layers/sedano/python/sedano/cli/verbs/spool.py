"""`sedano spool`: messages that wait on this machine because their queue did not take them, also those of stages that are gone.

    sedano spool list
    sedano spool send --app module:attribute
    sedano spool drop SPOOL --count N

A SPOOL is what `list` prints in its first column. `drop` deletes only when N is the number that `list` counted, so nothing is dropped that
was not looked at. `send` and `drop` ask; `--yes` answers.
"""

from __future__ import annotations

import click

from sedano.cli.options import changes, consent, of_app, of_list, the_app, whole


@click.group(help="Messages that wait on this machine for their queues.")
@of_app
def command() -> None:
    """Take the options that are given before the subcommand."""


@command.command("list", help="Show what waits, for which app and stage, since when.")
@of_list
def list_(as_json: bool) -> None:
    """Show what waits."""
    from sedano.cli import spooled_messages

    spooled_messages.show(as_json)


@command.command(help="Send what waits for the app and the stage of this environment.")
@changes
@of_app
def send() -> int:
    """Send what waits."""
    from sedano.cli import spooled_messages

    return spooled_messages.send(the_app(), consent())


@command.command(help="Delete what waits in one spool, as `list` names it.")
@click.argument("spool", metavar="SPOOL")
@click.option("--count", type=whole(1), required=True, metavar="N", help="How many messages it holds, the unreadable ones included.")
@changes
def drop(spool: str, count: int) -> int:
    """Delete what waits."""
    from sedano.cli.spooled_messages import drop as dropped

    return dropped(spool, count, consent())
