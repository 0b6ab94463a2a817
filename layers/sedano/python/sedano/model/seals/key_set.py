"""The keys of a stage: the signing key, and other valid keys during a rotation. Pure.

    {"sign":"k2","keys":{"k1":"<64 hexadecimal digits>","k2":"<64 hexadecimal digits>"},
     "times":{"k1":[1780000000,1790000000],"k2":[1789999700,0]}}

`times` has the time at which a key was made, and the time at which it last signed (epoch s). The second is 0 if the key never was the
signing key, still is it, or if the time is unknown.

A rotation never refuses a valid signature (every process caches the keys for up to `KEPT_S`):

    1. `added`     the new key is valid, the old one signs  wait KEPT_S: every process has the new key
    2. `signing`   the new key signs, the old one is valid  wait until no message signed by the old key is in flight: `OLD_S`
    3. `without`   the old key is removed

A compromised key is removed at once: `without`, directly after `signing`. Its signatures then count as absent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from sedano.errors import ConfigurationError, OptionError

KEPT_S = 300.0
"""How long (s) a process caches the keys."""
OLD_S = 14 * 86_400 + KEPT_S
"""How long (s) a key is valid after it last signed: a parked message stays in its queue for 14 days, and a process may sign with a cached
key for `KEPT_S`.
"""
MOST_KEYS = 4
FIRST = "k1"
KEY_BYTES = 32
LATEST = 2**36
"""The latest time of a key (in the year 4147)."""

_is_kid = re.compile(r"[A-Za-z0-9_.-]{1,64}").fullmatch
_is_secret = re.compile(r"[0-9a-f]{64}").fullmatch
_counted = re.compile(r"k([1-9][0-9]{0,8})").fullmatch
_mentioned = re.compile(r'"k([1-9][0-9]{0,7})"').findall


class Times(NamedTuple):
    """The times at which a key was *made* and *last* signed (epoch s); the module describes 0."""

    made: int = 0
    last: int = 0


class KeySet(NamedTuple):
    """The valid keys by their ids, the id of the signing key (*sign*), and the known times of keys."""

    sign: str
    keys: Mapping[str, bytes]
    times: Mapping[str, Times] = MappingProxyType({})

    def __repr__(self) -> str:
        """Return only the ids, so that a key never appears in a log or a traceback."""
        return f"KeySet(sign={self.sign!r}, keys={[*self.keys]})"


def first(secret: str, now: float = 0.0) -> KeySet:
    """Return the keys of a new stage, made at *now*; *secret* is 64 hexadecimal digits."""
    return _one(FIRST, secret, now)


def instead(text: str, secret: str, now: float) -> KeySet:
    """Return new keys that replace *text*, with an id that *text* does not contain; *secret* is 64 hexadecimal digits."""
    return _one(f"k{max(map(int, _mentioned(text)), default=0) + 1}", secret, now)


def written(keys: KeySet) -> str:
    """Return *keys* as text for the store."""
    text: dict[str, Any] = {"sign": keys.sign, "keys": {kid: key.hex() for kid, key in keys.keys.items()}}
    if keys.times:
        text["times"] = {kid: list(times) for kid, times in keys.times.items()}
    return json.dumps(text, separators=(",", ":"))


def read(text: str) -> KeySet:
    """Return the keys in *text*.

    Raises:
        ConfigurationError: *text* is not a valid set of keys; the message does not contain it.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise _unreadable("it is not JSON") from None
    if type(found) is not dict or found.keys() - {"times"} != {"sign", "keys"} or type(found["keys"]) is not dict:
        raise _unreadable("it is not an object with sign and keys")
    keys = found["keys"]
    if not 1 <= len(keys) <= MOST_KEYS:
        raise _unreadable(f"it has {len(keys)} keys; a stage has 1 to {MOST_KEYS}")
    for kid, secret in keys.items():
        _look_at(kid, secret)
    if type(found["sign"]) is not str or found["sign"] not in keys:
        raise _unreadable("the signing key is not among its keys")
    return KeySet(found["sign"], {kid: bytes.fromhex(secret) for kid, secret in keys.items()}, _times(found.get("times", {}), keys))


def added(keys: KeySet, secret: str, now: float = 0.0) -> KeySet:
    """Return *keys* with a new key, made at *now*, which does not sign yet; *secret* is 64 hexadecimal digits.

    Raises:
        OptionError: the stage already has four keys.
    """
    if len(keys.keys) >= MOST_KEYS:
        raise OptionError(
            f"keys: the stage already has {MOST_KEYS} ({', '.join(keys.keys)}); revoke one with `sedano keys revoke`"
        )
    numbers = [int(found[1]) for found in map(_counted, keys.keys) if found is not None]
    kid = f"k{max(numbers, default=0) + 1}"
    return keys._replace(keys={**keys.keys, kid: bytes.fromhex(secret)}, times={**keys.times, **_made(kid, now)})


def signing(keys: KeySet, kid: str, now: float = 0.0) -> KeySet:
    """Return *keys* with *kid* as the signing key from *now* on.

    Raises:
        OptionError: the key does not exist.
    """
    _known(keys, kid)
    if kid == keys.sign or not now:
        return keys._replace(sign=kid)
    own, before = keys.times.get(kid, Times()), keys.times.get(keys.sign, Times())
    return keys._replace(sign=kid, times={**keys.times, keys.sign: before._replace(last=int(now)), kid: own._replace(last=0)})


def without(keys: KeySet, kid: str) -> KeySet:
    """Return *keys* without *kid*.

    Raises:
        OptionError: the key does not exist, or it is the signing key.
    """
    _known(keys, kid)
    if kid == keys.sign:
        raise OptionError(f"{kid}: this is the signing key; rotate first: `sedano keys rotate`, with --at-once if {kid} is compromised")
    left = {one: key for one, key in keys.keys.items() if one != kid}
    return keys._replace(keys=left, times={one: times for one, times in keys.times.items() if one != kid})


def coming(keys: KeySet) -> str | None:
    """Return the id of the key that was added last and has never signed, which means that a rotation has begun; None if every
    key has.
    """
    fresh = [kid for kid, times in keys.times.items() if kid != keys.sign and times.made and not times.last]
    return max(fresh, key=lambda kid: keys.times[kid].made, default=None)


def kept_until(keys: KeySet, kid: str) -> float | None:
    """Return until when a message signed by *kid* may be in flight (epoch s); None if it signs, will sign, or the time is unknown."""
    last = keys.times.get(kid, Times()).last
    return last + OLD_S if last and kid != keys.sign else None


def current(keys: KeySet, now: float) -> KeySet:
    """Return *keys* without those that are expired at *now*."""
    for kid in [*keys.keys]:
        until = kept_until(keys, kid)
        if until is not None and until <= now:
            keys = without(keys, kid)
    return keys


def _one(kid: str, secret: str, now: float) -> KeySet:
    return KeySet(kid, {kid: bytes.fromhex(secret)}, _made(kid, now))


def _made(kid: str, now: float) -> dict[str, Times]:
    return {kid: Times(int(now))} if now else {}


def _known(keys: KeySet, kid: str) -> None:
    if kid not in keys.keys:
        raise OptionError(f"{kid[:64]}: not a key of this stage; it has {', '.join(keys.keys)}")


def _look_at(kid: str, secret: Any) -> None:
    if not _is_kid(kid):
        raise _unreadable("the id of a key is 1 to 64 of A-Z a-z 0-9 _ . -")
    if type(secret) is not str or not _is_secret(secret):
        raise _unreadable(f"{kid} is not {KEY_BYTES} bytes as {2 * KEY_BYTES} hexadecimal digits")


def _times(found: Any, keys: Mapping[str, Any]) -> dict[str, Times]:
    """Read the times of *keys*."""
    if type(found) is not dict or not found.keys() <= keys.keys():
        raise _unreadable("it has times of unknown keys")
    for times in found.values():
        if type(times) is not list or len(times) != 2 or not all(type(one) is int and 0 <= one <= LATEST for one in times):
            raise _unreadable("the times of a key are two whole numbers of seconds since 1970")
    return {kid: Times(*times) for kid, times in found.items()}


def _unreadable(why: str) -> ConfigurationError:
    return ConfigurationError(
        f"the stage's keys cannot be read: {why}; `sedano keys init --replace` writes new ones; marks of the old keys are then refused"
    )
