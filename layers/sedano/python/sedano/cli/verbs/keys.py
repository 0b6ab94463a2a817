"""`sedano keys`: the keys with which a stage marks its messages, so that they cannot be forged: make, list, rotate and drop them.

    sedano keys list
    sedano keys init [--replace]
    sedano keys rotate [--no-wait | --at-once]
    sedano keys revoke KEY [--at-once]

`rotate` adds a key, waits 300 s until every process knows it, and lets it sign. The old key stays valid for 14 more days, because a message
may be parked that long; the next `rotate` after that drops it. An interrupted `rotate` continues when it is called again. If others know a
key: `rotate --at-once`, then `revoke KEY --at-once`. No key is ever printed.

Each change prints its plan and asks; without a terminal it needs `--yes`.
"""

from __future__ import annotations

import click

from sedano.cli.options import changes, consent, of_app, of_list, the_app


@click.group(help="The keys with which a stage marks its messages. Keys are never printed.")
@of_app
def command() -> None:
    """Take the options that are given before the subcommand."""


@command.command("list", help="Show the ids and ages of the keys, and which one signs.")
@of_app
@of_list
def list_(as_json: bool) -> None:
    """Show the keys."""
    from sedano.cli import key_changes

    key_changes.show_all(the_app().outlet.ports, as_json)


@command.command(help="Make the first key. The first function that needs it would also make it.")
@click.option("--replace", is_flag=True, help="Replace all keys: parked messages become foreign.")
@changes
@of_app
def init(replace: bool) -> int:
    """Make the first key."""
    from sedano.cli import key_changes

    return key_changes.init(the_app(), replace, consent())


@command.command(help="Let a new key sign; the old one stays valid for 14 more days.")
@click.option("--no-wait", is_flag=True, help="Do only the next of the two steps, without waiting.")
@click.option("--at-once", is_flag=True, help="Do not wait until every process knows the new key; use this if others know the old one.")
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
@click.option("--at-once", is_flag=True, help="Drop it even if parked messages may have its mark; they become foreign.")
@changes
@of_app
def revoke(key: str, at_once: bool) -> int:
    """Drop a key."""
    from sedano.cli import key_changes

    return key_changes.revoke(the_app(), key, at_once, consent())
