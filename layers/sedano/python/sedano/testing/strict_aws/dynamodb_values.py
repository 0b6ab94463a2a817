"""Finds what DynamoDB refuses of values, keys and items, and how many bytes it counts for them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from sedano.testing.strict_aws.limits import LIMITS, Trip, bytes_of, over

Value = Mapping[str, Any]
Item = Mapping[str, Value]

KEYS = ("pk", "sk")
"""The names of the keys that are looked at in whole items; a table says in no call how its keys are named."""
KEY_KINDS = ("S", "N", "B")
"""The key attributes of every table of a stage."""
_LARGEST, _SMALLEST = 125, -130
_SETS = ("SS", "NS", "BS")


def item_size(item: Item) -> int:
    """Return the bytes that DynamoDB counts for an item: its names and its values."""
    return sum(bytes_of(name) + value_size(value) for name, value in item.items())


def value_size(value: Value) -> int:
    """Return the bytes that DynamoDB counts for a value; of a number the upper estimate."""
    ((kind, inner),) = value.items()
    if kind in _SETS:
        return sum(value_size({kind[0]: one}) for one in inner)
    if kind == "L":
        return 3 + sum(1 + value_size(one) for one in inner)
    if kind == "M":
        return 3 + sum(1 + bytes_of(name) + value_size(one) for name, one in inner.items())
    if kind == "N":
        return _number_size(inner)
    return bytes_of(inner) if kind == "S" else len(inner) if kind == "B" else 1


def _number_size(text: str) -> int:
    digits = re.sub(r"[eE].*", "", text).replace(".", "").lstrip("+-").strip("0")
    return min(21, (len(digits) + 1) // 2 + 1 + text.startswith("-"))


def value_problems(value: Value, where: str, depth: int = 1) -> Iterator[Trip]:
    """Yield what DynamoDB refuses of a value."""
    if len(value) != 1:
        yield Trip("dynamodb.type", f"{where}: a value has one type, not {len(value)}")
        return
    ((kind, inner),) = value.items()
    if depth > LIMITS["dynamodb.nesting"] + 1:
        yield Trip("dynamodb.nesting", f"{where}: nested deeper than {LIMITS['dynamodb.nesting']} levels")
    elif kind in ("L", "M"):
        parts = inner.items() if kind == "M" else enumerate(inner)
        for name, one in parts:
            yield from value_problems(one, f"{where}.{name}", depth + 1)
    else:
        yield from _scalar_problems(kind, inner, where)


def _scalar_problems(kind: str, inner: Any, where: str) -> Iterator[Trip]:
    if kind in _SETS:
        if not inner:
            yield Trip("dynamodb.empty_set", f"{where}: a set may not be empty")
        if len(set(inner)) < len(inner):
            yield Trip("dynamodb.set_twice", f"{where}: input collection contains duplicates")
    for text in inner if kind == "NS" else [inner] if kind == "N" else ():
        yield from _number_problems(text, where)
    if kind == "S" and not _is_unicode(inner):
        yield Trip("dynamodb.unicode", f"{where}: a lone surrogate is not valid UTF-8", "SerializationException")


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _number_problems(text: Any, where: str) -> Iterator[Trip]:
    number = _decimal(text)
    if number is None:
        yield Trip("dynamodb.number", f"{where}: {str(text)[:40]!r} cannot be converted to a numeric value")
        return
    digits = len("".join(map(str, number.as_tuple().digits)).strip("0"))
    yield from over("dynamodb.digits", f"{where}: significant digits", digits)
    if number and not _SMALLEST <= number.adjusted() <= _LARGEST:
        yield Trip("dynamodb.magnitude", f"{where}: number overflow or underflow: {str(text)[:30]}")


def _decimal(text: Any) -> Decimal | None:
    try:
        number = Decimal(text) if isinstance(text, str) else Decimal("NaN")
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def key_problems(key: Item) -> Iterator[Trip]:
    """Yield what DynamoDB refuses of a key."""
    for name, value in key.items():
        kind, inner = next(iter(value.items()), ("", ""))
        if len(value) != 1 or kind not in KEY_KINDS:
            yield from value_problems(value, name)
            continue
        size = bytes_of(inner) if kind == "S" else len(inner)
        if not size:
            yield Trip("dynamodb.key", f"{name}: one or more parameter values are not valid: an empty key value")
        yield from over("dynamodb.sk" if name == KEYS[1] else "dynamodb.pk", f"size of the key {name}", size)
        yield from value_problems(value, name)


def item_problems(item: Item) -> Iterator[Trip]:
    """Yield what DynamoDB refuses of a whole item."""
    for name, value in item.items():
        yield from value_problems(value, name)
    yield from key_problems({name: item[name] for name in KEYS if name in item})
    if not any(len(value) != 1 for value in item.values()):
        yield from over("dynamodb.item", "Item size has exceeded the maximum allowed size", item_size(item))
