"""`sedano keys`: the keys by which a stage marks what others must not forge: make, list, change, and drop them.

    python -m sedano keys list
    python -m sedano keys init [--replace]
    python -m sedano keys rotate [--no-wait | --at-once]
    python -m sedano keys revoke KEY [--at-once]

`rotate` adds a key, waits 300 s until every process knows it, and lets it sign. The old key holds for 14 days more, as long as a message
may be parked; the next `rotate` after that drops it. An interrupted `rotate` goes on when it is called again. If others know a key:
`rotate --at-once`, then `revoke KEY --at-once`. No key is ever printed.

Which app is meant: `--app module:attribute`, or `SEDANO_APP`; which stage, the variables of this environment say.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

from sedano.cli.console import app_of, table, takes_app
from sedano.cli.printer import say, say_json
from sedano.errors import OptionError
from sedano.model.messages.timestamps import shown
from sedano.model.seals import key_set
from sedano.model.seals.key_set import KEPT_S, KeySet, Times
from sedano.ports import Ports

_SOON = "processes use it within 300 s"


def main(arguments: Sequence[str]) -> int:
    """Do what the command line says; return the exit code."""
    asked = _parser().parse_args(arguments)
    verb: Callable[[Ports, argparse.Namespace], int] = asked.do
    return verb(app_of(asked).outlet.ports, asked)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="sedano keys", description="the keys by which a stage marks its messages; none is ever printed")
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    every = verbs.add_parser("list", help="their ids and ages, and which one signs")
    every.set_defaults(do=_list)
    init = verbs.add_parser("init", help="make the first one, which the first function that needs it also does")
    init.add_argument("--replace", action="store_true", help="in place of what is there: parked messages become foreign")
    init.set_defaults(do=_init)
    rotate = verbs.add_parser("rotate", help="let a new key sign; the old one holds for 14 days more")
    how = rotate.add_mutually_exclusive_group()
    how.add_argument("--no-wait", action="store_true", help="do the next of the two steps, and wait for nothing")
    how.add_argument("--at-once", action="store_true", help="do not wait until every process knows the new key: others know the old one")
    rotate.set_defaults(do=_rotate)
    revoke = verbs.add_parser("revoke", help="drop a key that signs no more")
    revoke.add_argument("key", metavar="KEY", help="its id, as `list` shows it")
    revoke.add_argument("--at-once", action="store_true", help="also while parked messages may bear its mark: they become foreign")
    revoke.set_defaults(do=_revoke)
    for verb in (every, init, rotate, revoke):
        verb.add_argument("--json", action="store_true", help="as JSON")
    takes_app(parser, every, init, rotate, revoke)
    return parser


def _list(ports: Ports, asked: argparse.Namespace) -> int:
    text = ports.seals.store.read()
    if text is None:
        if not asked.json:
            say("this stage has no keys yet; the first function that needs them makes one, or `sedano keys init`", err=True)
        return 0
    _show(key_set.read(text), ports, asked)
    return 0


def _init(ports: Ports, asked: argparse.Namespace) -> int:
    store, now = ports.seals.store, ports.clock.now()
    text = store.read()
    if text is None:
        fresh = key_set.first(_secret(ports), now)
        if store.create(key_set.written(fresh)):
            return _done(fresh, ports, asked, f"{fresh.sign} made")
        text = store.read() or ""
    if not asked.replace:
        raise OptionError(
            "init: this stage has keys already; `sedano keys rotate` lets a new one sign, `sedano keys init --replace` drops them all"
        )
    fresh = key_set.instead(text, _secret(ports), now)
    store.replace(key_set.written(fresh))
    return _done(fresh, ports, asked, f"{fresh.sign} made in place of what was there; {_SOON}, and what was marked before is foreign")


def _rotate(ports: Ports, asked: argparse.Namespace) -> int:
    now = ports.clock.now()
    keys = _current(ports, now)
    fresh = key_set.coming(keys)
    if fresh is None:
        keys = key_set.added(keys, _secret(ports), now)
        fresh = [*keys.keys][-1]
        if not asked.at_once:
            _write(ports, keys)
    left = min(keys.times[fresh].made + KEPT_S - now, KEPT_S)
    if left > 0 and not asked.at_once:
        if asked.no_wait:
            ready = shown(now + left)
            return _done(keys, ports, asked, f"{fresh} added, {keys.sign} signs; call `sedano keys rotate` again at {ready} or later")
        say(f"sedano keys: {fresh} added; it signs in {left:.0f} s, when every process knows it", err=True)
        ports.clock.sleep(left)
        keys = _current(ports, now)
    old = keys.sign
    keys = key_set.signing(keys, fresh, ports.clock.now())
    _write(ports, keys)
    until = key_set.kept_until(keys, old)
    return _done(keys, ports, asked, f"{fresh} signs; {_SOON}; {old} holds until {shown(until or 0)} for what it marked")


def _revoke(ports: Ports, asked: argparse.Namespace) -> int:
    keys = _read(ports)
    left, until = key_set.without(keys, asked.key), key_set.kept_until(keys, asked.key)
    if not asked.at_once and asked.key != key_set.coming(keys) and (until is None or until > ports.clock.now()):
        when = "for an unknown time" if until is None else f"until {shown(until)}"
        raise OptionError(
            f"{asked.key}: parked messages may bear its mark {when}, and would be foreign; if others know the key, give --at-once"
        )
    _write(ports, left)
    return _done(left, ports, asked, f"{asked.key} dropped; processes forget it within 300 s")


def _read(ports: Ports) -> KeySet:
    text = ports.seals.store.read()
    if text is None:
        raise OptionError("this stage has no keys yet; `sedano keys init` makes the first one")
    return key_set.read(text)


def _current(ports: Ports, now: float) -> KeySet:
    """Return the keys without those whose time is over, which are named: what is written next drops them."""
    keys = _read(ports)
    left = key_set.current(keys, now)
    if over := keys.keys.keys() - left.keys.keys():
        say(f"sedano keys: {', '.join(sorted(over))} dropped: nothing that it marked is under way any more", err=True)
    return left


def _write(ports: Ports, keys: KeySet) -> None:
    ports.seals.store.replace(key_set.written(keys))


def _secret(ports: Ports) -> str:
    return ports.entropy.nonce() + ports.entropy.nonce()


def _done(keys: KeySet, ports: Ports, asked: argparse.Namespace, what: str) -> int:
    """Show *keys* to a program, or say to a person *what* was done."""
    if asked.json:
        _show(keys, ports, asked)
    else:
        say(what)
    return 0


def _show(keys: KeySet, ports: Ports, asked: argparse.Namespace) -> None:
    rows = [_plain(keys, kid, ports.clock.now()) for kid in keys.keys]
    if asked.json:
        for row in rows:
            say_json(row)
        return
    head = ("KEY", "STATE", "MADE", "AGE", "HOLDS UNTIL")
    table(head, [(row["key"], row["state"], *_ages(row), _when(row["until"])) for row in rows])


def _plain(keys: KeySet, kid: str, now: float) -> dict[str, Any]:
    """Return what is said of a key: its id, what it is for, and its times; null where nobody knows."""
    made = keys.times.get(kid, Times()).made or None
    state = "signs" if kid == keys.sign else "coming" if kid == key_set.coming(keys) else "holds"
    age = None if made is None else round(now - made)
    return {"key": kid, "state": state, "made": made, "age": age, "until": key_set.kept_until(keys, kid)}


def _ages(row: dict[str, Any]) -> tuple[str, str]:
    age = row["age"]
    return _when(row["made"]), "-" if age is None else f"{age // 86_400} d" if age >= 86_400 else f"{age} s"


def _when(moment: float | None) -> str:
    return "-" if moment is None else shown(moment)
