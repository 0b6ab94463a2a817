"""Lists, makes, rotates and revokes the keys of a stage: the work of `sedano keys`."""

from __future__ import annotations

from typing import Any

from sedano.app import Sedano
from sedano.cli.consent import Consent, note, refusal
from sedano.cli.exits import Exit
from sedano.cli.printer import say
from sedano.cli.tables import Age, Cell, Instant, document, listing
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
        if as_json:
            document("keys", [])
        else:
            say("this stage has no keys yet; the first function that needs them makes one, or `sedano keys init`", err=True)
        return
    _show(key_set.read(text), ports, as_json)


def init(app: Sedano, replace: bool, consent: Consent) -> Exit:
    """Make the first key, or *replace* all keys, after asking."""
    ports = app.outlet.ports
    store, now = ports.seals.store, ports.clock.now()
    text = store.read()
    _refuse_second(text, replace)
    plan = "make the first key" if text is None else "replace every key by 1 new key; messages that the old keys marked become foreign"
    refused = refusal("keys", [plan], consent)
    if refused is not None:
        return refused
    if text is None:
        fresh = key_set.first(_secret(ports), now)
        if store.create(key_set.written(fresh)):
            return _done(fresh, app, consent, f"{fresh.sign} made")
        text = store.read() or ""
        _refuse_second(text, replace)
    fresh = key_set.instead(text, _secret(ports), now)
    store.replace(key_set.written(fresh))
    return _done(fresh, app, consent, f"{fresh.sign} replaces all earlier keys; {_SOON}, and messages marked before are foreign")


def rotate(app: Sedano, *, no_wait: bool, at_once: bool, consent: Consent) -> Exit:
    """Add a key and let it sign, after asking."""
    ports = app.outlet.ports
    now = ports.clock.now()
    keys = key_set.current(_read(ports), now)
    if key_set.coming(keys) is None:
        key_set.added(keys, _secret(ports), now)  # refuses a fifth key before the question
    refused = refusal("keys", _rotation(_read(ports), now, no_wait=no_wait, at_once=at_once), consent)
    return _rotated(app, no_wait=no_wait, at_once=at_once, consent=consent) if refused is None else refused


def _rotated(app: Sedano, *, no_wait: bool, at_once: bool, consent: Consent) -> Exit:
    ports = app.outlet.ports
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
            return _done(keys, app, consent, f"{fresh} added, {keys.sign} signs; call `sedano keys rotate` again at {ready} or later")
        say(f"sedano keys: {fresh} added; it signs in {left:.0f} s, when every process knows it", err=True)
        ports.clock.sleep(left)
        keys = _current(ports, now)
    old = keys.sign
    keys = key_set.signing(keys, fresh, ports.clock.now())
    _write(ports, keys)
    until = key_set.kept_until(keys, old)
    return _done(keys, app, consent, f"{fresh} signs; {_SOON}; {old} is valid until {shown(until or 0)} for messages that it marked")


def revoke(app: Sedano, key: str, at_once: bool, consent: Consent) -> Exit:
    """Drop the *key* with this id, after asking."""
    ports = app.outlet.ports
    keys = _read(ports)
    left, until = key_set.without(keys, key), key_set.kept_until(keys, key)
    marked = key != key_set.coming(keys) and (until is None or until > ports.clock.now())
    if not at_once and marked:
        when = "for an unknown time" if until is None else f"until {shown(until)}"
        raise OptionError(f"{key}: parked messages may have its mark {when}, and would be foreign; if others know the key, give --at-once")
    plan = f"drop 1 key of {len(keys.keys)}: {key}" + ("; parked messages that it marked become foreign" if marked else "")
    refused = refusal("keys", [plan], consent)
    if refused is not None:
        return refused
    _write(ports, left)
    return _done(left, app, consent, f"{key} dropped; processes forget it within 300 s")


def _refuse_second(text: str | None, replace: bool) -> None:
    if text is not None and not replace:
        raise OptionError(
            "init: this stage already has keys; `sedano keys rotate` lets a new one sign, `sedano keys init --replace` drops them all"
        )


def _rotation(keys: KeySet, now: float, *, no_wait: bool, at_once: bool) -> list[str]:
    """Return what `rotate` will do to *keys* at *now*, a line each."""
    over, fresh = keys.keys.keys() - key_set.current(keys, now).keys.keys(), key_set.coming(keys)
    plan = [f"drop {len(over)} old keys: {', '.join(sorted(over))}"] if over else []
    left = KEPT_S if fresh is None else min(keys.times[fresh].made + KEPT_S - now, KEPT_S)
    named = fresh or "1 new key"
    if fresh is None:
        plan.append("add 1 key")
    if at_once:
        return [*plan, f"let {named} sign at once; processes that do not know it yet count its marks as foreign for up to {KEPT_S:.0f} s"]
    if left <= 0:
        return [*plan, f"let {named} sign in place of {keys.sign}"]
    return [*plan, f"{keys.sign} continues to sign" if no_wait else f"wait {left:.0f} s, then let {named} sign in place of {keys.sign}"]


def _read(ports: Ports) -> KeySet:
    text = ports.seals.store.read()
    if text is None:
        raise OptionError("this stage has no keys yet; `sedano keys init` makes the first one")
    return key_set.read(text)


def _current(ports: Ports, now: float) -> KeySet:
    """Return the keys that have not expired; print the names of the others, which the next write drops."""
    keys = _read(ports)
    left = key_set.current(keys, now)
    if over := keys.keys.keys() - left.keys.keys():
        say(f"sedano keys: {', '.join(sorted(over))} dropped, because no message with its mark can still arrive", err=True)
    return left


def _write(ports: Ports, keys: KeySet) -> None:
    ports.seals.store.replace(key_set.written(keys))


def _secret(ports: Ports) -> str:
    return ports.entropy.nonce() + ports.entropy.nonce()


def _done(keys: KeySet, app: Sedano, consent: Consent, what: str) -> Exit:
    """Print *keys* for a program, or *what* was done for a person; write it to the log."""
    if consent.as_json:
        _show(keys, app.outlet.ports, consent.as_json)
    else:
        say(what)
    note(app, "keys", what, consent)
    return Exit.DONE


def _show(keys: KeySet, ports: Ports, as_json: bool) -> None:
    rows = [_plain(keys, kid, ports.clock.now()) for kid in keys.keys]
    if as_json:
        document("keys", rows)
        return
    head = ("KEY", "STATE", "MADE", "AGE", "HOLDS UNTIL")
    listing(head, [_cells(row) for row in rows], now=ports.clock.now())


def _cells(row: dict[str, Any]) -> tuple[Cell, ...]:
    age = None if row["age"] is None else Age(row["age"])
    return row["key"], row["state"], row["made"], age, row["until"]


def _plain(keys: KeySet, kid: str, now: float) -> dict[str, Any]:
    """Return the row of a key: its id, its state and its times; null where a time is unknown."""
    made = keys.times.get(kid, Times()).made or None
    state = "signs" if kid == keys.sign else "coming" if kid == key_set.coming(keys) else "holds"
    age = None if made is None else round(now - made)
    until = key_set.kept_until(keys, kid)
    return {"key": kid, "state": state, "made": Instant(made or 0), "age": age, "until": Instant(until or 0)}
