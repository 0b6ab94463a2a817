"""`sedano spool`: messages that wait on this machine because their queue did not take them, also those of stages that are gone.

    python -m sedano spool list
    python -m sedano spool send --app module:attribute
    python -m sedano spool drop SPOOL --count N

A SPOOL is what `list` prints in its first column. `drop` deletes only when N is the number that `list` counted, so nothing is dropped that
was not looked at.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from sedano.cli.console import app_of, table, takes_app, whole
from sedano.cli.printer import say, say_json
from sedano.engine.publisher import spool_folder
from sedano.engine.publisher.spool import Found, Spool, every
from sedano.errors import ConfigurationError, SpoolError
from sedano.model.messages.timestamps import shown


def main(arguments: Sequence[str]) -> int:
    """Do what the command line says; return the exit code."""
    asked = _parser().parse_args(arguments)
    verb: Callable[[argparse.Namespace], int] = asked.do
    return verb(asked)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="sedano spool", description="messages that wait on this machine for their queues")
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    every_one = verbs.add_parser("list", help="what waits, for which app and stage, since when")
    every_one.add_argument("--json", action="store_true", help="as JSON")
    every_one.set_defaults(do=_list)
    send = verbs.add_parser("send", help="send what waits for the app and the stage of this environment")
    send.set_defaults(do=_send)
    takes_app(send)
    drop = verbs.add_parser("drop", help="delete what waits in one spool")
    drop.add_argument("spool", help="as `list` names it")
    drop.add_argument("--count", type=whole(1), required=True, metavar="N", help="how many messages it holds, the unreadable ones included")
    drop.set_defaults(do=_drop)
    return parser


def _list(asked: argparse.Namespace) -> int:
    found = every()
    if asked.json:
        for one in found:
            say_json({**one._asdict(), "place": str(one.place), "spool": _name(one)})
        return 0
    if not found:
        say(f"nothing waits in {spool_folder.home()}", err=True)
        return 0
    table(("SPOOL", "APP", "STAGE", "WAITING", "UNREADABLE", "OLDEST", "QUEUES"), map(_row, found))
    return 0


def _send(asked: argparse.Namespace) -> int:
    app = app_of(asked)
    place = spool_folder.place(app.name)
    if place is None:
        raise ConfigurationError("this host has no spool: it is a Lambda function, or SEDANO_SPOOL is off")
    before = Spool(place).waiting()
    app.outlet.send_stored()
    left = Spool(place).waiting()
    say(f"{before - left} sent, {left} left")
    if left:
        say("sedano spool: the queue did not take the rest; the log above says why", err=True)
    return 1 if left else 0


def _drop(asked: argparse.Namespace) -> int:
    named = [one for one in every() if _name(one) == asked.spool]
    if not named:
        raise SpoolError(f"no spool is called {asked.spool}; `sedano spool list` shows what there is")
    dropped = Spool(named[0].place).drop(asked.count)
    say(f"{dropped} dropped")
    return 0


def _name(one: Found) -> str:
    return f"{one.place.parent.name}/{one.place.name}"


def _row(one: Found) -> tuple[str, ...]:
    oldest = shown(one.oldest) if one.oldest else "-"
    return _name(one), one.app, one.stage or "-", str(one.waiting), str(one.spoiled), oldest, " ".join(one.queues)
