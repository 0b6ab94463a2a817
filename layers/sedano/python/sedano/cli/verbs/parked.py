"""`sedano parked`: lists parked messages, shows one, and sends messages to their queues again.

    sedano parked list
    sedano parked show ID
    sedano parked redrive ID …
    sedano parked redrive --why unknown-task
    sedano parked redrive --foreign ID …

`redrive` first shows what it will send, by task and queue, and asks; `--dry-run` sends nothing, `--yes` does not ask. A message that was
not parked by a function of the stage is foreign: it is sent only if its ID is given with `--foreign`, and then to the queue that the app
declares for its task.

An ID is that of a task, of a message, or of the parked message.
"""

from __future__ import annotations

import click

from sedano.cli.options import as_json, changes, chosen, consent, of_app, of_list, shared, the_app, whole

MOST = 1_000

most = shared("--most", type=whole(1), metavar="N", help=f"Read N messages; default: {MOST}.")


@click.group(help="Parked messages, with their reasons.")
@of_app
@most
def command() -> None:
    """Take the options that are given before the subcommand."""


@command.command("list", help="Show how many messages were parked for each reason, with a sample of each.")
@click.option("--why", "--reason", "reason", metavar="CODE", help="Only those that were set aside for this reason.")
@of_app
@most
@of_list
def list_(reason: str | None, as_json: bool) -> None:
    """Show the reasons."""
    from sedano.cli import parked_messages

    parked_messages.show_reasons(the_app(), reason, _most(), as_json)


@command.command(help="Show one message whole, with its reason. ID is that of the task or of the message.")
@click.argument("named", metavar="ID")
@of_app
@most
@as_json
def show(named: str, as_json: bool) -> int:
    """Show one message."""
    from sedano.cli import parked_messages

    return parked_messages.show(the_app(), named, _most(), as_json)


@command.command(help="Send messages again to the queue that they came from. IDs are those of tasks or of messages.")
@click.argument("ids", metavar="[ID]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Every parked message.")
@click.option("--why", metavar="CODE", help="Only those that were set aside for this reason.")
@click.option("--foreign", is_flag=True, help="Also what no function of this stage has parked, to the queue of its task.")
@changes
@of_app
@most
def redrive(ids: tuple[str, ...], everything: bool, why: str | None, foreign: bool) -> int:
    """Send messages again."""
    if bool(ids) + bool(why) + everything != 1:
        raise click.UsageError("redrive what? give ids, or --why CODE, or --all")
    if foreign and not ids:
        raise click.UsageError("--foreign: give the ids of the messages; look at each with `sedano parked show ID` first")
    from sedano.cli import parked_messages

    meant = parked_messages.Meant(ids=ids, reason=why, everything=everything)
    return parked_messages.send_again(the_app(), meant, foreign=foreign, most=_most(), consent=consent())


def _most() -> int:
    return int(chosen("most") or MOST)
