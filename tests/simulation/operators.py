"""What the words of an expression do: each makes a function of an item and the values from the functions of its operands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.simulation import values
from tests.simulation.values import Invalid, Path, Value

Values = Mapping[str, Value]
Condition = Callable[[Mapping[str, Value], Values], bool]
Operand = Callable[[Mapping[str, Value], Values], Value | None]

_MISSING = "The provided expression refers to an attribute that does not exist in the item"
_WRONG_TYPE = "An operand in the update expression has an incorrect data type"


def summed(left: Operand, right: Operand, sign: int) -> Operand:
    """Return the sum, or with *sign* -1 the difference."""

    def add(item: Mapping[str, Value], given: Values) -> Value:
        one, other = numeric(left(item, given)), numeric(right(item, given))
        return {"N": values.written(one + sign * other)}

    return add


def numeric(value: Value | None) -> Any:
    """Return the number that *value* is."""
    if value is None:
        raise Invalid(_MISSING)
    if "N" not in value:
        raise Invalid(_WRONG_TYPE)
    return values.number(value["N"])


def present(operand: Operand) -> Operand:
    """Return *operand*, which must be there."""

    def value(item: Mapping[str, Value], given: Values) -> Value:
        found = operand(item, given)
        if found is None:
            raise Invalid(_MISSING)
        return found

    return value


def every(parts: Sequence[Condition]) -> Condition:
    """Return whether all hold."""
    if len(parts) == 1:
        return parts[0]

    def hold(item: Mapping[str, Value], given: Values) -> bool:
        for part in parts:  # noqa: SIM110 - the generator of `all` would cost more than most parts
            if not part(item, given):
                return False
        return True

    return hold


def either(parts: Sequence[Condition]) -> Condition:
    """Return whether one holds."""
    if len(parts) == 1:
        return parts[0]

    def holds(item: Mapping[str, Value], given: Values) -> bool:
        for part in parts:  # noqa: SIM110 - as above
            if part(item, given):
                return True
        return False

    return holds


def _exists(path: Operand) -> Condition:
    return lambda item, given: path(item, given) is not None


def _not_exists(path: Operand) -> Condition:
    return lambda item, given: path(item, given) is None


def _typed(path: Operand, kind: Operand) -> Condition:
    return lambda item, given: (value := path(item, given)) is not None and next(iter(value)) == (kind(item, given) or {}).get("S")


def _equal(left: Operand, right: Operand) -> Condition:
    return lambda item, given: values.equal(left(item, given), right(item, given))


def _unequal(left: Operand, right: Operand) -> Condition:
    return lambda item, given: not values.equal(left(item, given), right(item, given))


def _less(left: Operand, right: Operand) -> Condition:
    return lambda item, given: values.before(left(item, given), right(item, given), same=False)


def _at_most(left: Operand, right: Operand) -> Condition:
    return lambda item, given: values.before(left(item, given), right(item, given), same=True)


def _else(path: Operand, other: Operand) -> Operand:
    return lambda item, given: found if (found := path(item, given)) is not None else other(item, given)


def _appended(left: Operand, right: Operand) -> Operand:
    def append(item: Mapping[str, Value], given: Values) -> Value:
        one, other = left(item, given), right(item, given)
        if one is None or other is None:
            raise Invalid(_MISSING)
        if "L" not in one or "L" not in other:
            raise Invalid(_WRONG_TYPE)
        return {"L": [*one["L"], *other["L"]]}

    return append


def added(path: Path, operand: Operand) -> Operand:
    """Return what ADD leaves at *path*."""

    def add(item: Mapping[str, Value], given: Values) -> Value:
        value, old = operand(item, given), values.found(item, path)
        if value is None:
            raise Invalid(_MISSING)
        ((kind, more),) = value.items()
        if (kind != "N" and kind not in values.SETS) or (old is not None and kind not in old):
            raise Invalid(_WRONG_TYPE)
        if kind == "N":
            return {"N": values.written((numeric(old) if old else 0) + values.number(more))}
        return {kind: sorted({*more, *(old[kind] if old else ())})}

    return add


def deleted(path: Path, operand: Operand) -> Operand:
    """Return what DELETE leaves at *path*."""

    def delete(item: Mapping[str, Value], given: Values) -> Value | None:
        value, old = operand(item, given), values.found(item, path)
        ((kind, less),) = (value or {}).items()
        if kind not in values.SETS or (old is not None and kind not in old):
            raise Invalid(_WRONG_TYPE)
        rest = sorted({*old[kind]} - {*less}) if old else []
        return {kind: rest} if rest else None

    return delete


FUNCTIONS: Mapping[str, Callable[..., Condition]] = {
    "attribute_exists": _exists,
    "attribute_not_exists": _not_exists,
    "attribute_type": _typed,
    "begins_with": lambda path, prefix: lambda item, given: values.begins(path(item, given), prefix(item, given)),
    "contains": lambda path, part: lambda item, given: values.contains(path(item, given), part(item, given)),
}
COMPARISONS: Mapping[str, Callable[[Operand, Operand], Condition]] = {
    "=": _equal,
    "<>": _unequal,
    "<": _less,
    "<=": _at_most,
    ">": lambda left, right: _less(right, left),
    ">=": lambda left, right: _at_most(right, left),
}
OPERANDS: Mapping[str, Callable[..., Operand]] = {
    "size": lambda path: lambda item, given: values.size(path(item, given)),
    "if_not_exists": _else,
    "list_append": _appended,
}
