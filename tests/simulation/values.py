"""DynamoDB's values: how two of them compare, what a missing one means, how a nested one is reached and replaced.

A value is what botocore carries: `{"N": "1"}`, `{"S": "text"}`, `{"M": {…}}`. A path is a name followed by names and list positions.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

Value = Mapping[str, Any]
Item = dict[str, Value]
Path = tuple[str | int, ...]

SETS = frozenset({"SS", "NS", "BS"})
ORDERED = frozenset({"N", "S", "B"})


class Invalid(Exception):
    """The service would answer ValidationException; the text says why."""


def number(text: str) -> int | Decimal:
    """Return the number that *text* writes."""
    try:
        return int(text)
    except ValueError:
        return Decimal(text)


def written(value: int | Decimal) -> str:
    """Return *value* as DynamoDB writes it: no exponent, no zeros behind the point."""
    if isinstance(value, int):
        return str(value)
    text = format(value, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in ("-0", "") else text


def comparable(value: Value) -> tuple[str, Any]:
    """Return *value* so that Python's `==` says what DynamoDB's `=` says."""
    ((kind, held),) = value.items()
    if kind == "N":
        return kind, number(held)
    if kind in SETS:
        return kind, frozenset(map(number, held) if kind == "NS" else held)
    if kind == "L":
        return kind, tuple(comparable(one) for one in held)
    if kind == "M":
        return kind, tuple(sorted((name, comparable(one)) for name, one in held.items()))
    return kind, held


def equal(left: Value | None, right: Value | None) -> bool:
    """Tell whether both are there and equal."""
    if left is None or right is None:
        return False
    return left == right or ("S" not in left and comparable(left) == comparable(right))


def before(left: Value | None, right: Value | None, *, same: bool) -> bool:
    """Tell whether *left* < *right*, or ≤ when *same*: only values of one ordered type compare."""
    if left is None or right is None:
        return False
    if "N" in left and "N" in right:
        number_left, number_right = number(left["N"]), number(right["N"])
        return bool(number_left <= number_right if same else number_left < number_right)
    (kind, one), (other_kind, other) = comparable(left), comparable(right)
    if kind != other_kind or kind not in ORDERED:
        return False
    if kind == "S":
        one, other = one.encode("utf-8", "surrogatepass"), other.encode("utf-8", "surrogatepass")
    return bool(one <= other if same else one < other)


def size(value: Value | None) -> Value | None:
    """Return the size of *value* as a number, or None where there is none."""
    if value is None:
        return None
    ((kind, held),) = value.items()
    return {"N": str(len(held))} if kind in SETS or kind in ("S", "B", "L", "M") else None


def contains(value: Value | None, wanted: Value | None) -> bool:
    """Tell whether a text has a part, a set a member, or a list an element."""
    if value is None or wanted is None:
        return False
    ((kind, held),) = value.items()
    ((wanted_kind, part),) = wanted.items()
    if kind in ("S", "B"):
        return kind == wanted_kind and part in held
    if kind in SETS:
        return kind[0] == wanted_kind and comparable({kind: [part]})[1] <= comparable(value)[1]
    return kind == "L" and any(equal(one, wanted) for one in held)


def begins(value: Value | None, prefix: Value | None) -> bool:
    """Tell whether a text begins with another."""
    if value is None or prefix is None:
        return False
    ((kind, held),), ((other, part),) = value.items(), prefix.items()
    return kind == other and kind in ("S", "B") and held.startswith(part)


def found(item: Mapping[str, Value], path: Path) -> Value | None:
    """Return the value at *path* of *item*, or None."""
    value = item.get(path[0])  # type: ignore[arg-type] # a path begins with a name
    for step in path[1:]:
        if value is None:
            return None
        if isinstance(step, int):
            held = value.get("L", ())
            value = held[step] if step < len(held) else None
        else:
            value = value.get("M", {}).get(step)
    return value


def replaced(item: Item, path: Path, value: Value | None) -> None:
    """Put *value* at *path* of *item* (None: remove what is there); what lies around it is copied, never changed in place."""
    name = path[0]
    assert isinstance(name, str)
    if len(path) == 1:
        if value is None:
            item.pop(name, None)
        else:
            item[name] = value
        return
    if name not in item:
        if value is None:
            return
        raise Invalid("The document path provided in the update expression is invalid for update")
    item[name] = _inner(item[name], path[1:], value)


def _inner(holder: Value, path: Path, value: Value | None) -> Value:
    ((kind, held),) = holder.items()
    step = path[0]
    if kind != ("L" if isinstance(step, int) else "M"):
        raise Invalid("The document path provided in the update expression is invalid for update")
    there = step < len(held) if isinstance(step, int) else step in held
    if len(path) > 1:
        if not there:
            raise Invalid("The document path provided in the update expression is invalid for update")
        value = _inner(held[step], path[1:], value)
    copy: Any = list(held) if kind == "L" else dict(held)
    if value is None:
        if there:
            del copy[step]
    elif isinstance(step, int) and not there:
        copy.append(value)
    else:
        copy[step] = value
    return {kind: copy}
