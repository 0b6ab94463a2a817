"""Values on the wire: writes the arguments and results of tasks as ASCII JSON, or raises an error with the path of the part that it cannot
write.

| Python | JSON |
|---|---|
| None, bool, int (up to 4300 digits), finite float, str | itself |
| list, tuple (a named one too), dict with str keys | array, array, object |
| `uuid.UUID`, finite `decimal.Decimal` | string, as `str` writes it |
| `datetime.datetime`, `datetime.date` | string, ISO 8601 |
| `enum.Enum` member | its value |
| instance of a dataclass, of a pydantic model | object of its fields |

Any other value raises `Unserialisable`, and so do NaN, the infinities, half a surrogate pair, a value that contains itself, and a key that
is not a string: `json.dumps` would silently turn ``{1: "a"}`` into ``{"1": "a"}``, so that the task would receive a value that the caller
did not pass. `sedano.model.tasks.annotations` restores the type of an annotation; without one, plain JSON is returned: a tuple as a list, a
UUID as its text.

CPython's C encoder writes the value. The slow, exact walk over the value, which finds the path, runs only after an error or if the text
contains an object, a surrogate, deep nesting or a long number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from json.encoder import c_make_encoder, encode_basestring_ascii  # type: ignore[attr-defined] # CPython only, not in typeshed
from typing import Any
from uuid import UUID

from sedano.errors import Unserialisable
from sedano.model.messages.strict_json import MAX_DIGITS, holds_long_digits, shown

_INFINITIES = (float("inf"), float("-inf"))
_TOO_LONG = 10**MAX_DIGITS


def dump(value: Any, where: str, most_depth: int) -> str:
    """Return *value* as compact ASCII JSON with at most *most_depth* containers inside one another.

    Raises:
        Unserialisable: a part of it cannot be written; the message names it by its path, which begins with *where*.
    """
    try:
        text = _encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        _walk(value, where, most_depth)
        raise Unserialisable(f"{where}: {error}") from error
    if "{" in text or "\\ud" in text or (len(text) > most_depth and _needs_a_look(text, most_depth)):
        _walk(value, where, most_depth)
    return text


def _needs_a_look(text: str, most_depth: int) -> bool:
    return text.count("[") > most_depth or (len(text) > MAX_DIGITS and holds_long_digits(text))


class _Misfit(TypeError):
    """A part of a value cannot be written; *path* grows on the way up."""

    path = ""


def _plain(value: Any) -> Any:
    """Return the wire form of *value*; the C encoder calls this for every value that is not JSON."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, UUID) or (isinstance(value, Decimal) and value.is_finite()):
        return str(value)
    if isinstance(value, date):
        return value.isoformat()
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if isinstance(value, Decimal):
        raise _Misfit(f"the Decimal {value} cannot be written as JSON")
    raise _Misfit(f"a value of type {type(value).__qualname__} cannot be written as JSON")


_encode_chunks = c_make_encoder(None, _plain, encode_basestring_ascii, None, ":", ",", False, False, False)


def _encode(value: Any) -> str:
    return "".join(_encode_chunks(value, 0))


def _walk(value: Any, where: str, most_depth: int) -> None:
    try:
        _check(value, most_depth)
    except _Misfit as misfit:
        raise Unserialisable(f"{where}{misfit.path}: {misfit}") from None


def _check(value: Any, room: int) -> None:
    """Raise `_Misfit` for the first part of *value* that cannot be written with at most *room* containers inside one
    another.
    """
    if isinstance(value, str):
        _check_text(value)
    elif isinstance(value, int | float):
        _check_number(value)
    elif isinstance(value, dict):
        _check_members(value, room - 1)
    elif isinstance(value, list | tuple):
        _check_items(value, room - 1)
    elif value is not None:
        _check(_plain(value), room)


def _check_number(value: float) -> None:
    if value != value or value in _INFINITIES:
        raise _Misfit(f"the float {value!r} cannot be written as JSON")
    if isinstance(value, int) and not -_TOO_LONG < value < _TOO_LONG:
        raise _Misfit(f"an integer of more than {MAX_DIGITS} digits cannot be written as JSON")


def _check_text(value: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _Misfit(f"the string {shown(value)} holds half a surrogate pair") from None


def _check_items(items: Sequence[Any], room: int) -> None:
    _check_room(room)
    for index, item in enumerate(items):
        try:
            _check(item, room)
        except _Misfit as misfit:
            misfit.path = f"[{index}]{misfit.path}"
            raise


def _check_members(members: Mapping[Any, Any], room: int) -> None:
    _check_room(room)
    for key, item in members.items():
        try:
            if not isinstance(key, str):
                raise _Misfit(f"a key of type {type(key).__qualname__} cannot be written as JSON, only str")
            _check_text(key)
            _check(item, room)
        except _Misfit as misfit:
            misfit.path = f"{_step(key)}{misfit.path}"
            raise


def _check_room(room: int) -> None:
    if room < 0:
        raise _Misfit("too many containers inside one another, or a value that contains itself")


def _step(key: object) -> str:
    usual = isinstance(key, str) and len(key) <= 60 and key.isascii() and key.isidentifier()
    return f".{key}" if usual else f"[{shown(key)}]"
