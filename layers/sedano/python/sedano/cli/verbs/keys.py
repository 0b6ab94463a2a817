"""`sedano keys`: the keys by which a stage marks what others must not forge: make, list, change, and drop them.

    sedano keys list
    sedano keys init [--replace]
    sedano keys rotate [--no-wait | --at-once]
    sedano keys revoke KEY [--at-once]

`rotate` adds a key, waits 300 s until every process knows it, and lets it sign. The old key holds for 14 days more, as long as a message
may be parked; the next `rotate` after that drops it. An interrupted `rotate` goes on when it is called again. If others know a key:
`rotate --at-once`, then `revoke KEY --at-once`. No key is ever printed.

Each change prints its plan and asks; without a terminal it needs `--yes`.
"""

from __future__ import annotations

import click

from sedano.cli.options import changes, consent, of_app, of_list, the_app


@click.group(help="The keys by which a stage marks its messages. No key is ever printed.")
@of_app
def command() -> None:
    """Take the options that are given before the subcommand."""


@command.command("list", help="Show their ids and ages, and which one signs.")
@of_app
@of_list
def list_(as_json: bool) -> None:
    """Show the keys."""
    from sedano.cli import key_changes

    key_changes.show_all(the_app().outlet.ports, as_json)


@command.command(help="Make the first key, which the first function that needs it also does.")
@click.option("--replace", is_flag=True, help="Replace all keys: parked messages become foreign.")
@changes
@of_app
def init(replace: bool) -> int:
    """Make the first key."""
    from sedano.cli import key_changes

    return key_changes.init(the_app(), replace, consent())


@command.command(help="Let a new key sign; the old one holds for 14 days more.")
@click.option("--no-wait", is_flag=True, help="Do the next of the two steps and do not wait.")
@click.option("--at-once", is_flag=True, help="Do not wait until every process knows the new key: others know the old one.")
@changes
@of_app
def rotate(no_wait: bool, at_once: bool) -> int:
    """Let a new key sign."""
    if no_wait and at_once:
        raise click.UsageError("--no-wait and --at-once exclude each other; give one of them")
    from sedano.cli import key_changes

    return key_changes.rotate(the_app(), no_wait=no_wait, at_once=at_once, consent=consent())


@command.command(help="Drop a key that no longer signs.")
@click.argument("key", metavar="KEY")
@click.option("--at-once", is_flag=True, help="Also while parked messages may have its mark: they become foreign.")
@changes
@of_app
def revoke(key: str, at_once: bool) -> int:
    """Drop a key."""
    from sedano.cli import key_changes

    return key_changes.revoke(the_app(), key, at_once, consent())
