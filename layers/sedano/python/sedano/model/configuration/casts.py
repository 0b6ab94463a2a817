"""The values of configuration fields: casts the value from a layer, a string or a typed value, to the type of the field. Pure.

A string is parsed for the type of the field. A value from a layer with types (TOML, JSON, Python) must be of that type: a number is not
accepted for a string.
"""

from __future__ import annotations

import enum
import json
import math
import re
import types
import typing
from collections.abc import Callable, Mapping
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from types import MappingProxyType
from typing import Any, Final

TRUE, FALSE = ("true", "1", "yes", "on"), ("false", "0", "no", "off")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_PART = re.compile(r"(\d{1,20}(?:\.\d{1,20})?)(ms|s|m|h|d)")
"""A part of a duration. The bounds keep the search in a long string of digits linear."""
_INTEGER = re.compile(r"[+-]?[0-9]{1,100}")
_MANY = (tuple, frozenset)
_UNIONS = (typing.Union, types.UnionType)


class Unexpected(ValueError):
    """A value is not valid for a field; the message is the expected form."""


def fits(kind: Any) -> bool:
    """Return whether a field may have the type *kind*."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in _UNIONS:
        return len(inner) == 2 and type(None) in inner and fits(_without_none(inner))
    if origin is typing.Literal:
        return all(isinstance(one, str) for one in inner)
    if origin in _MANY:
        return _is_of_one(origin, inner) and _is_single(inner[0])
    return _is_single(kind)


def described(kind: Any) -> str:
    """Return why a field cannot have the type *kind*, and the type to write instead."""
    if kind in (list, set) or typing.get_origin(kind) in (list, set):
        return f"{_name(kind)} is mutable; write tuple[str, ...] or frozenset[str]"
    if kind in _MANY:
        return f"{_name(kind)} lacks the type of its values; write {_name(kind)}[str{', ...' if kind is tuple else ''}]"
    known = ", ".join(one.__name__ for one in _SINGLE)
    return f"no layer can give a {_name(kind)}; write {known}, an Enum, a Literal of strings, tuple[…, ...], a frozen dataclass or … | None"


def cast(value: object, kind: Any) -> Any:
    """Return *value* as a value of the type *kind*, for which `fits` holds.

    Raises:
        Unexpected: *value* is not valid; the message is the expected form and does not contain the value.
    """
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in _UNIONS:
        return None if value is None or value == "" else cast(value, _without_none(inner))
    if origin is typing.Literal:
        return _one_of(value, {one: one for one in inner})
    if origin in _MANY:
        return origin(cast(one, inner[0]) for one in _listed(value))
    if issubclass(kind, enum.Enum):
        return value if isinstance(value, kind) else _member(value, kind)
    return _SINGLE[kind](value)


def _member(value: object, kind: type[enum.Enum]) -> Any:
    """Return the member with the value *value*, or else with that name."""
    by_name = {one.name: one for one in kind}
    by_value = {str(one.value): one for one in kind}
    found = by_value.get(str(value)) if type(value) in (str, int, float) else None
    return found if found is not None else _one_of(value, by_name)


def _one_of(value: object, known: Mapping[str, Any]) -> Any:
    if isinstance(value, str) and value in known:
        return known[value]
    raise Unexpected(f"one of {', '.join(known)}")


def _listed(value: object) -> list[Any]:
    """Return the values of a list; a string is a JSON list, or strings separated by commas."""
    if isinstance(value, list | tuple | frozenset):
        return [*value]
    if not isinstance(value, str):
        raise Unexpected('a list, such as ["a", "b"]')
    if value.lstrip().startswith("["):
        try:
            found = json.loads(value)
        except (ValueError, RecursionError):
            raise Unexpected('a list, such as ["a", "b"] or a,b') from None
        return list(found)
    return [one for part in value.split(",") if (one := part.strip())]


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise Unexpected('a string; write it in quotes, such as "a"')
    return value


def _truth(value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in TRUE + FALSE:
        return value.lower() in TRUE
    raise Unexpected("true or false")


def _integer(value: object) -> int:
    if type(value) is int:
        return value
    if isinstance(value, str) and _INTEGER.fullmatch(text := value.strip()):
        return int(text)  # `strip` takes off more than `int` ignores
    raise Unexpected("a whole number, such as 10")


def _number(value: object) -> float:
    if type(value) in (int, float) or isinstance(value, str):
        try:
            found = float(typing.cast("Any", value))
        except (ValueError, OverflowError):
            found = math.nan
        if math.isfinite(found):
            return found
    raise Unexpected("a number, such as 2.5")


def _decimal(value: object) -> Decimal:
    if isinstance(value, Decimal | str) or type(value) is int:
        try:
            found = Decimal(value)
        except InvalidOperation:
            found = Decimal("NaN")
        if found.is_finite():
            return found
    raise Unexpected('a decimal number as a string, such as "0.10"')


def _duration(value: object) -> timedelta:
    """Return a duration; a number is in seconds, and a string has units."""
    if isinstance(value, timedelta):
        return value
    text = value.strip() if isinstance(value, str) else ""
    try:
        if text and not _PART.sub("", text).strip():
            return timedelta(seconds=sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text)))
        return timedelta(seconds=_number(value))
    except (ValueError, OverflowError):
        raise Unexpected("a duration: seconds, or a string such as 1h30m or 250ms") from None


_SINGLE: Final[Mapping[Any, Callable[[object], Any]]] = MappingProxyType({
    str: _text, bool: _truth, int: _integer, float: _number, Decimal: _decimal, timedelta: _duration,
})  # fmt: skip


def _is_single(kind: Any) -> bool:
    return kind in _SINGLE or (isinstance(kind, type) and issubclass(kind, enum.Enum))


def _is_of_one(origin: Any, inner: tuple[Any, ...]) -> bool:
    return len(inner) == 2 and inner[1] is ... if origin is tuple else len(inner) == 1


def _without_none(inner: tuple[Any, ...]) -> Any:
    return next(one for one in inner if one is not type(None))


def _name(kind: Any) -> str:
    return kind.__name__ if isinstance(kind, type) else str(kind).replace("typing.", "")
