"""Stamps: a few names with string values that a task passes to everything that it causes, such as a cost centre, a team, a release.

They are written as one string, `name=value,name=value` with percent-encoded values: the list form of W3C Baggage. The term is Celery's.
Messages, plans and the history carry this string unchanged, and Spark reads it there with `str_to_map`; it is parsed only where a stamp is
needed.

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
"""The most characters of all stamps of a task in their written form: every message of a canvas carries them."""
HEADERS = ("tenant", "task", "root_id", "parent_id", "source")
"""The names of attributes that every task has; a stamp may not have one of these names."""
is_name = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]{0,63}").fullmatch
_ONE = r"[A-Za-z_][A-Za-z0-9_.\-]{0,63}=(?:[A-Za-z0-9_.~\-]|%[0-9A-Fa-f]{2})+"
TENANT = "tenant"
LONGEST_TOLD = 4_096
"""The most characters of an event's stamps that are read."""
_is_told = re.compile(rf"(?=.{{1,{LONGEST_TOLD}}}\Z){_ONE}(?:,{_ONE})*").fullmatch
_is_list = re.compile(rf"(?=.{{1,{LONGEST}}}\Z){_ONE}(?:,{_ONE})*").fullmatch


def write(stamps: Mapping[str, str]) -> str:
    """Return *stamps* in their written form, sorted by name; an empty string for no stamps.

    Raises:
        OptionError: a name or a value is not valid, or the written form has more than 256 characters.
    """
    for name, value in stamps.items():
        _check(name, value)
    text = ",".join(f"{name}={quote(stamps[name], safe='', errors='strict')}" for name in sorted(stamps))
    if len(text) > LONGEST:
        raise OptionError(f"stamps: {len(text)} characters in written form; all stamps of a task together may have {LONGEST}")
    return text


def read(text: str | None) -> Mapping[str, str]:
    """Return the stamps in *text* (which passes `is_written`); empty for None."""
    if not text:
        return NOTHING
    return {name: unquote(value, errors="strict") for name, _, value in (one.partition("=") for one in text.split(","))}


def for_event(text: str | None, tenant: str | None) -> str | None:
    """Return the stamps of a task for its events: *text*, and its *tenant* under the name `tenant`, which a stamp may not have."""
    if tenant is None:
        return text
    own = f"{TENANT}={quote(tenant, safe='', errors='replace')}"
    return f"{own},{text}" if text else own


def from_event(stamps: object) -> Mapping[str, str]:
    """Return the stamps and the tenant of an event: a list (`for_event`), or Celery's object or its JSON; empty for anything else."""
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
        OptionError: together they have more than 256 characters.
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
