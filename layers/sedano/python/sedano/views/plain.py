"""A view as plain values, for JSON: each record is an object with its fields' names, the same for a verb, a page and a program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def plain(value: object) -> Any:
    """Return *value* (a view, or a part of one) as objects, arrays, texts, numbers, booleans and null."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: plain(one) for name, one in value._asdict().items()}
    if isinstance(value, Mapping):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, frozenset | set):
        return sorted(plain(one) for one in value)
    return value if isinstance(value, bool | int | float) or value is None else str(value)
