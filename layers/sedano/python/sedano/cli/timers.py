"""`sedano timers`: schedules among the stage's timers that are no timers, and taking them away.

    python -m sedano timers foreign
    python -m sedano timers foreign NAME … --delete
    python -m sedano timers foreign --delete

A worker's role may create schedules in the group of the stage's timers, and IAM cannot say of what kind. A worker that does as a stranger
says could leave a schedule there that recurs, or calls something else. `foreign` shows each schedule that is no timer of sedano, and what
no timer has; `--delete` takes away those that are named, or all of them. It makes one call for each schedule of the group.

Which app is meant: `--app module:attribute`, or `SEDANO_APP`; which stage, the variables of this environment say.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from sedano.cli.console import app_of, table, takes_app
from sedano.cli.printer import say, say_json, say_text
from sedano.errors import SedanoError
from sedano.model.schedules.foreign import Foreign
from sedano.ports import Ports


def main(arguments: Sequence[str]) -> int:
    """Do what the command line says; return the exit code."""
    asked = _parser().parse_args(arguments)
    verb: Callable[[Ports, argparse.Namespace], int] = asked.do
    return verb(app_of(asked).outlet.ports, asked)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="sedano timers", description="the schedules in the group of the stage's timers")
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    foreign = verbs.add_parser("foreign", help="those that are no timers, and why; one call for each schedule of the group")
    foreign.add_argument("names", nargs="*", metavar="NAME", help="only these")
    foreign.add_argument("--delete", action="store_true", help="take them away")
    foreign.add_argument("--json", action="store_true", help="as JSON")
    foreign.set_defaults(do=_foreign)
    takes_app(parser, foreign)
    return parser


def _foreign(ports: Ports, asked: argparse.Namespace) -> int:
    found = sorted(one for one in ports.timers.foreign() if not asked.names or one.name in asked.names)
    missing = sorted({*asked.names} - {one.name for one in found})
    for name in missing:
        say(f"sedano timers: no foreign schedule is called {name}; `python -m sedano timers foreign` shows what there is", err=True)
    if not found and not asked.names:
        say("sedano timers: every schedule of the group is a timer of this stage", err=True)
    _show(found, asked.json)
    left = [one.name for one in found if not _deleted(ports, one)] if asked.delete else []
    return 1 if missing or left else 0


def _show(found: Sequence[Foreign], as_json: bool) -> None:
    if as_json:
        for one in found:
            say_json(one._asdict())
    elif found:
        rows = [(one.name, one.state, one.expression, one.target, "; ".join(one.why)) for one in found]
        table(("NAME", "STATE", "WHEN", "TARGET", "WHY"), rows)


def _deleted(ports: Ports, one: Foreign) -> bool:
    """Take *one* away and say so; tell whether it is gone."""
    try:
        gone = ports.timers.cancel(one.name)
    except SedanoError as error:
        say_text(f"sedano timers: {one.name} stays: {error}", err=True)
        return False
    say(f"sedano timers: {one.name} {'deleted' if gone else 'was gone already'}", err=True)
    return True
