"""`sedano spool`: messages that wait on this machine because their queue did not accept them, also those of deleted stages.

    sedano spool list
    sedano spool send --app module:attribute
    sedano spool drop SPOOL --count N

A SPOOL is a name in the first column of `list`. `drop` deletes only if N is the number that `list` printed, so that no other messages are
dropped. `send` and `drop` ask; `--yes` answers.
"""

from __future__ import annotations

import click

from sedano.cli.options import changes, consent, of_app, of_list, the_app, whole


@click.group(help="Messages that wait on this machine for their queues.")
@of_app
def command() -> None:
    """Take the options that are given before the subcommand."""


@command.command("list", help="Show the waiting messages: app, stage, and since when they wait.")
@of_list
def list_(as_json: bool) -> None:
    """Show the waiting messages."""
    from sedano.cli import spooled_messages

    spooled_messages.show(as_json)


@command.command(help="Send the messages that wait for the app and the stage of this environment.")
@changes
@of_app
def send() -> int:
    """Send the waiting messages."""
    from sedano.cli import spooled_messages

    return spooled_messages.send(the_app(), consent())


@command.command(help="Delete the messages of one spool, named as in `list`.")
@click.argument("spool", metavar="SPOOL")
@click.option("--count", type=whole(1), required=True, metavar="N", help="The number of its messages, including unreadable ones.")
@changes
def drop(spool: str, count: int) -> int:
    """Delete the waiting messages."""
    from sedano.cli.spooled_messages import drop as dropped

    return dropped(spool, count, consent())
