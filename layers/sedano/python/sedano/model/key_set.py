"""The keys of a stage: one that signs, and those that hold beside it while one follows another. Pure.

    {"sign":"k2","keys":{"k1":"<64 hexadecimal digits>","k2":"<64 hexadecimal digits>"}}

Rotation, so that nothing that was signed is refused in between (every process keeps the keys for up to `KEPT_S`):

    1. `added`     the new key holds, the old one signs     wait KEPT_S: every process knows the new key
    2. `signing`   the new key signs, the old one holds     wait until nothing signed by the old one is under way
    3. `without`   the old key is gone

A key that is known to others is dropped at once: `without`, after `signing`. What it had signed counts as unsigned from then on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from sedano.errors import ConfigurationError, OptionError

KEPT_S = 300.0
"""For so long a process does not ask for the keys again."""
MOST_KEYS = 4
FIRST = "k1"
KEY_BYTES = 32

_is_kid = re.compile(r"[A-Za-z0-9_.-]{1,64}").fullmatch
_is_secret = re.compile(r"[0-9a-f]{64}").fullmatch
_counted = re.compile(r"k([1-9][0-9]{0,8})").fullmatch


class KeySet(NamedTuple):
    """The keys that hold, by their ids, and the id of the one that signs."""

    sign: str
    keys: Mapping[str, bytes]

    def __repr__(self) -> str:
        """Return the ids alone: a key is in no log and no traceback."""
        return f"KeySet(sign={self.sign!r}, keys={[*self.keys]})"


def first(secret: str) -> KeySet:
    """Return the keys of a new stage; *secret* is 64 hexadecimal digits."""
    return KeySet(FIRST, {FIRST: bytes.fromhex(secret)})


def written(keys: KeySet) -> str:
    """Return *keys* as the text that is kept."""
    return json.dumps({"sign": keys.sign, "keys": {kid: key.hex() for kid, key in keys.keys.items()}}, separators=(",", ":"))


def read(text: str) -> KeySet:
    """Return the keys that *text* holds.

    Raises:
        ConfigurationError: it holds none; the message does not repeat what it holds.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise _unreadable("it is not JSON") from None
    if type(found) is not dict or found.keys() != {"sign", "keys"} or type(found["keys"]) is not dict:
        raise _unreadable("it is not an object with sign and keys")
    keys = found["keys"]
    if not 1 <= len(keys) <= MOST_KEYS:
        raise _unreadable(f"it has {len(keys)} keys; 1 to {MOST_KEYS} may hold at a time")
    for kid, secret in keys.items():
        _look_at(kid, secret)
    if type(found["sign"]) is not str or found["sign"] not in keys:
        raise _unreadable("the key that signs is not among its keys")
    return KeySet(found["sign"], {kid: bytes.fromhex(secret) for kid, secret in keys.items()})


def added(keys: KeySet, secret: str) -> KeySet:
    """Return *keys* with a new one, which does not sign yet; *secret* is 64 hexadecimal digits.

    Raises:
        OptionError: four keys hold already.
    """
    if len(keys.keys) >= MOST_KEYS:
        raise OptionError(f"keys: {MOST_KEYS} hold already ({', '.join(keys.keys)}); revoke one that nothing is signed by any more")
    numbers = [int(found[1]) for found in map(_counted, keys.keys) if found is not None]
    return keys._replace(keys={**keys.keys, f"k{max(numbers, default=0) + 1}": bytes.fromhex(secret)})


def signing(keys: KeySet, kid: str) -> KeySet:
    """Return *keys* with *kid* as the one that signs.

    Raises:
        OptionError: there is no such key.
    """
    _known(keys, kid)
    return keys._replace(sign=kid)


def without(keys: KeySet, kid: str) -> KeySet:
    """Return *keys* without *kid*.

    Raises:
        OptionError: there is no such key, or it is the one that signs.
    """
    _known(keys, kid)
    if kid == keys.sign:
        raise OptionError(f"{kid}: this key signs; let another one sign first")
    return keys._replace(keys={one: key for one, key in keys.keys.items() if one != kid})


def _known(keys: KeySet, kid: str) -> None:
    if kid not in keys.keys:
        raise OptionError(f"{kid}: no key of this stage; it has {', '.join(keys.keys)}")


def _look_at(kid: str, secret: Any) -> None:
    if not _is_kid(kid):
        raise _unreadable("the id of a key is 1 to 64 of A-Z a-z 0-9 _ . -")
    if type(secret) is not str or not _is_secret(secret):
        raise _unreadable(f"{kid} is not {KEY_BYTES} bytes as {2 * KEY_BYTES} hexadecimal digits")


def _unreadable(why: str) -> ConfigurationError:
    return ConfigurationError(
        f"the stage's keys cannot be read: {why}; delete the parameter, and the next function that needs keys creates new ones"
    )
