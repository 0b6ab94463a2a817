"""Headers: a few values by name that travel with one task, such as a request id, and that its body reads.

They are written as one JSON object in ASCII, which the message carries unchanged as text, because a CloudEvents attribute holds no object;
it is parsed only where a header is needed. Stamps (`sedano.model.messages.stamps`) pass on to all that a task causes; headers stay with
their task, through its retries. The term is Celery's.

>>> write({"request_id": "r-7", "try": 2})
'{"request_id":"r-7","try":2}'
>>> read('{"request_id":"r-7","try":2}')
{'request_id': 'r-7', 'try': 2}
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sedano.errors import MessageRefused, OptionError, Unserialisable
from sedano.model.messages.message import NOTHING
from sedano.model.messages.plain_json import dump
from sedano.model.messages.strict_json import load

LONGEST = 1_024
"""The most bytes of the headers of one task in their written form: every message of the task carries them."""
MAX_DEPTH = 8
"""The most containers of headers inside one another, with the object of all headers."""

_is_object = re.compile(rf"\{{[ -~]{{2,{LONGEST - 2}}}\}}").fullmatch


def write(headers: Mapping[str, Any]) -> str:
    """Return *headers* in their written form.

    Raises:
        OptionError: a name is not a text, JSON cannot hold a value, or the written form has more than 1 024 bytes.
    """
    for name in headers:
        _check(name)
    try:
        text = dump(dict(headers), "headers", MAX_DEPTH)
    except Unserialisable as unwritable:
        raise OptionError(str(unwritable)) from None
    if len(text) > LONGEST:
        raise OptionError(
            f"headers: {len(text)} bytes in written form; the headers of a task may have {LONGEST}: pass long values as arguments"
        )
    return text


def read(text: str | None) -> Mapping[str, Any]:
    """Return the headers in *text* (which passes `is_written`); empty for None."""
    if not text:
        return NOTHING
    found: Mapping[str, Any] = load(text, LONGEST, MAX_DEPTH, "headers")
    return found


def is_written(text: str) -> bool:
    """Return whether *text* is a JSON object of headers in ASCII, with at least one, in at most 1 024 bytes."""
    if _is_object(text) is None:
        return False
    try:
        found = load(text, LONGEST, MAX_DEPTH, "headers")
    except MessageRefused:
        return False
    return bool(found) and "" not in found


def _check(name: object) -> None:
    if not isinstance(name, str) or not name:
        raise OptionError(f"headers: {name!r} is not a name; give a text that is not empty")
