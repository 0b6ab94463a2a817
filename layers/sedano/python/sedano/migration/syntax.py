"""Reads expressions of the source: constants, mappings that are written out, and an expression as text."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from datetime import timedelta

LONGEST_CODE = 60
"""The longest expression, in characters, that a remedy repeats."""
_SPANS = ("days", "seconds", "microseconds", "milliseconds", "minutes", "hours", "weeks")


def code(value: ast.expr) -> str:
    """Return *value* as source; a long one, or a number that Python does not write, as an ellipsis."""
    try:
        text = ast.unparse(value)
    except ValueError:
        return "…"
    return text if len(text) <= LONGEST_CODE and "\n" not in text else "…"


def called(value: ast.expr) -> str:
    """Return the last name of the function that *value* calls; empty for any other expression."""
    function = value.func if isinstance(value, ast.Call) else None
    return function.id if isinstance(function, ast.Name) else function.attr if isinstance(function, ast.Attribute) else ""


def constant_of(value: ast.expr) -> object:
    """Return the constant that *value* is, which may be a negative number; an ellipsis for any other expression."""
    if isinstance(value, ast.Constant):
        return value.value
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub) and isinstance(value.operand, ast.Constant):
        number = value.operand.value
        return -number if isinstance(number, int | float) else ...
    return ...


def is_true(value: ast.expr) -> bool:
    """Return whether *value* is the constant True."""
    return constant_of(value) is True


def text_of(value: ast.AST | None) -> str | None:
    """Return the text that *value* is; None for any other expression."""
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None


def entries_of(value: ast.expr) -> dict[str, ast.expr]:
    """Return the entries of `{"name": …}` or `dict(name=…)` whose names the source says."""
    if isinstance(value, ast.Dict):
        pairs = zip(value.keys, value.values, strict=True)
        return {name: entry for key, entry in pairs if (name := text_of(key)) is not None}
    if isinstance(value, ast.Call) and called(value) == "dict":
        return {one.arg: one.value for one in value.keywords if one.arg is not None}
    return {}


def as_mapping(value: ast.expr | None, mappings: Mapping[str, ast.Dict]) -> ast.Dict | None:
    """Return the mapping that *value* writes out: `{…}`, `dict(…)`, or a name of *mappings*, those of the module."""
    if isinstance(value, ast.Name):
        return mappings.get(value.id)
    if isinstance(value, ast.Call) and called(value) == "dict" and not value.args:
        keys = [None if one.arg is None else ast.copy_location(ast.Constant(one.arg), one) for one in value.keywords]
        return ast.copy_location(ast.Dict(list(keys), [one.value for one in value.keywords]), value)
    return value if isinstance(value, ast.Dict) else None


def span_of(value: ast.expr) -> timedelta | None:
    """Return the `timedelta(…)` of constants that *value* is; None for any other expression, or one that Python refuses."""
    if not isinstance(value, ast.Call) or called(value) != "timedelta":
        return None
    given = dict(zip(_SPANS, map(constant_of, value.args), strict=False))
    given |= {one.arg: constant_of(one.value) for one in value.keywords if one.arg is not None}
    numbers = {name: one for name, one in given.items() if isinstance(one, int | float) and not isinstance(one, bool)}
    if len(numbers) < max(len(given), len(value.args)) or any(one.arg is None for one in value.keywords):
        return None
    try:
        return timedelta(**numbers)
    except (TypeError, ValueError, OverflowError):
        return None
