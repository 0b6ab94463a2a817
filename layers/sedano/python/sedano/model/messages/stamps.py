"""Stamps: a few names with texts that travel from a task to everything that it causes, such as a cost centre, a team, a release.

Written as one text, `name=value,name=value` with percent-encoded values, the list form of W3C Baggage, and Celery's word for it. The text
travels as it is in messages, plans and the history, where Spark reads it with `str_to_map`; only what looks into it takes it apart.

>>> write({"team": "core", "cost_centre": "a1"})
'cost_centre=a1,team=core'
>>> read("cost_centre=a1,team=core")
{'cost_centre': 'a1', 'team': 'core'}
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from urllib.parse import quote, unquote

from sedano.errors import OptionError
from sedano.model.messages.message import NOTHING

LONGEST = 256
"""The most characters of all stamps together, as they are written: every message of a canvas carries them."""
HEADERS = ("tenant", "task", "root_id", "parent_id", "source")
"""The attributes of every command; no stamp may have one of these names."""
is_name = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]{0,63}").fullmatch
_ONE = r"[A-Za-z_][A-Za-z0-9_.\-]{0,63}=(?:[A-Za-z0-9_.~\-]|%[0-9A-Fa-f]{2})+"
TENANT = "tenant"
LONGEST_TOLD = 4_096
"""The most characters that are read of the stamps of an event."""
_is_told = re.compile(rf"(?=.{{1,{LONGEST_TOLD}}}\Z){_ONE}(?:,{_ONE})*").fullmatch
_is_list = re.compile(rf"(?=.{{1,{LONGEST}}}\Z){_ONE}(?:,{_ONE})*").fullmatch


def write(stamps: Mapping[str, str]) -> str:
    """Return *stamps* as a message carries them, by name; the empty text without stamps.

    Raises:
        OptionError: a name or a value is not valid, or they are more than 256 characters together.
    """
    for name, value in stamps.items():
        _check(name, value)
    text = ",".join(f"{name}={quote(stamps[name], safe='', errors='strict')}" for name in sorted(stamps))
    if len(text) > LONGEST:
        raise OptionError(f"stamps: {len(text)} characters as they are written; all stamps of a task together may have {LONGEST}")
    return text


def read(text: str | None) -> Mapping[str, str]:
    """Return the stamps that *text* lists (`is_written`), or none."""
    if not text:
        return NOTHING
    return {name: unquote(value, errors="strict") for name, _, value in (one.partition("=") for one in text.split(","))}


def told(text: str | None, tenant: str | None) -> str | None:
    """Return the stamps of a task as its events say them: *text*, and its *tenant* under that name, which no stamp may have."""
    if tenant is None:
        return text
    own = f"{TENANT}={quote(tenant, safe='', errors='replace')}"
    return f"{own},{text}" if text else own


def said(stamps: object) -> Mapping[str, str]:
    """Return the stamps and the tenant that an event says: a list (`told`), or Celery's object or its JSON; none for anything else."""
    if isinstance(stamps, str) and stamps.startswith("{"):
        try:
            stamps = json.loads(stamps)
        except (ValueError, RecursionError):
            return NOTHING
    if isinstance(stamps, Mapping):
        return {str(name): value for name, value in stamps.items() if isinstance(value, str)}
    if not isinstance(stamps, str) or _is_told(stamps) is None:
        return NOTHING
    return {name: unquote(value, errors="replace") for name, _, value in (one.partition("=") for one in stamps.split(","))}


def is_written(text: str) -> bool:
    """Return whether *text* lists stamps: in any order, no name twice, values in UTF-8, at most 256 characters."""
    if _is_list(text) is None:
        return False
    try:
        return len(read(text)) == text.count(",") + 1
    except UnicodeDecodeError:
        return False


def joined(inherited: str | None, own: Mapping[str, str] | None) -> str | None:
    """Return the stamps of a task that inherits *inherited* and is given *own*, which win; None for no stamps.

    Raises:
        OptionError: together they are more than 256 characters.
    """
    if not own:
        return inherited
    return write({**read(inherited), **own})


def _check(name: object, value: object) -> None:
    if not isinstance(name, str) or not is_name(name):
        raise OptionError(f"stamps: {name!r} is not a name; letters, digits, '_', '.' and '-', at most 64, a letter or '_' first")
    if name in HEADERS:
        raise OptionError(f"stamps: every task has {name!r} already; choose another name")
    if not isinstance(value, str) or not value:
        raise OptionError(f"stamps: {name}: expected a text that is not empty, got {value!r}"[:200])
    try:
        value.encode()
    except UnicodeEncodeError:
        raise OptionError(f"stamps: {name}: half a surrogate pair is not text") from None
