"""Lists, makes, rotates and revokes the keys of a stage: what `sedano keys` does."""

from __future__ import annotations

from typing import Any

from sedano.cli.printer import say, say_json, table
from sedano.errors import OptionError
from sedano.model.messages.timestamps import shown
from sedano.model.seals import key_set
from sedano.model.seals.key_set import KEPT_S, KeySet, Times
from sedano.ports import Ports

_SOON = "processes use it within 300 s"


def show_all(ports: Ports, as_json: bool) -> None:
    """Print every key's id, state and age."""
    text = ports.seals.store.read()
    if text is None:
        if not as_json:
            say("this stage has no keys yet; the first function that needs them makes one, or `sedano keys init`", err=True)
        return
    _show(key_set.read(text), ports, as_json)


def init(ports: Ports, replace: bool, as_json: bool) -> None:
    """Make the first key, or *replace* all keys."""
    store, now = ports.seals.store, ports.clock.now()
    text = store.read()
    if text is None:
        fresh = key_set.first(_secret(ports), now)
        if store.create(key_set.written(fresh)):
            return _done(fresh, ports, as_json, f"{fresh.sign} made")
        text = store.read() or ""
    if not replace:
        raise OptionError(
            "init: this stage has keys already; `sedano keys rotate` lets a new one sign, `sedano keys init --replace` drops them all"
        )
    fresh = key_set.instead(text, _secret(ports), now)
    store.replace(key_set.written(fresh))
    return _done(fresh, ports, as_json, f"{fresh.sign} made in place of what was there; {_SOON}, and what was marked before is foreign")


def rotate(ports: Ports, *, no_wait: bool, at_once: bool, as_json: bool) -> None:
    """Add a key and let it sign."""
    now = ports.clock.now()
    keys = _current(ports, now)
    fresh = key_set.coming(keys)
    if fresh is None:
        keys = key_set.added(keys, _secret(ports), now)
        fresh = [*keys.keys][-1]
        if not at_once:
            _write(ports, keys)
    left = min(keys.times[fresh].made + KEPT_S - now, KEPT_S)
    if left > 0 and not at_once:
        if no_wait:
            ready = shown(now + left)
            return _done(keys, ports, as_json, f"{fresh} added, {keys.sign} signs; call `sedano keys rotate` again at {ready} or later")
        say(f"sedano keys: {fresh} added; it signs in {left:.0f} s, when every process knows it", err=True)
        ports.clock.sleep(left)
        keys = _current(ports, now)
    old = keys.sign
    keys = key_set.signing(keys, fresh, ports.clock.now())
    _write(ports, keys)
    until = key_set.kept_until(keys, old)
    return _done(keys, ports, as_json, f"{fresh} signs; {_SOON}; {old} holds until {shown(until or 0)} for what it marked")


def revoke(ports: Ports, key: str, at_once: bool, as_json: bool) -> None:
    """Drop the *key* with this id."""
    keys = _read(ports)
    left, until = key_set.without(keys, key), key_set.kept_until(keys, key)
    if not at_once and key != key_set.coming(keys) and (until is None or until > ports.clock.now()):
        when = "for an unknown time" if until is None else f"until {shown(until)}"
        raise OptionError(f"{key}: parked messages may bear its mark {when}, and would be foreign; if others know the key, give --at-once")
    _write(ports, left)
    return _done(left, ports, as_json, f"{key} dropped; processes forget it within 300 s")


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


def _done(keys: KeySet, ports: Ports, as_json: bool, what: str) -> None:
    """Show *keys* to a program, or say to a person *what* was done."""
    if as_json:
        _show(keys, ports, as_json)
    else:
        say(what)


def _show(keys: KeySet, ports: Ports, as_json: bool) -> None:
    rows = [_plain(keys, kid, ports.clock.now()) for kid in keys.keys]
    if as_json:
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
