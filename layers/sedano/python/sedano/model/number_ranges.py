"""Checks whether an option's value is a number within a range; True and infinity are not numbers. Pure."""

from __future__ import annotations

from math import isfinite
from typing import TypeGuard


def is_number(value: object, least: float, most: float) -> TypeGuard[float]:
    """Return whether *value* is a number from *least* to *most*."""
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most and isfinite(value)


def is_count(value: object, least: int, most: int) -> bool:
    """Return whether *value* is a whole number from *least* to *most*."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
