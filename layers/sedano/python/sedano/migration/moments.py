"""Times in the source that sedano refuses: without a time zone, or a `timedelta`."""

from __future__ import annotations

import ast

from sedano.migration.answers import CHANGE, Judgement
from sedano.migration.syntax import called, code

_ZONELESS = frozenset({"utcnow", "utcfromtimestamp", "today"})
_PLACE_OF_ZONE = {"now": 0, "fromtimestamp": 1, "datetime": 7}
"""The place of the time zone among the arguments of a function that makes a time."""


def of_moment(name: str, value: ast.expr) -> Judgement | None:
    """Return the answer to the option *name*, `eta` or `expires`, with a *value* that sedano refuses; None for any other value."""
    if called(value) == "timedelta":
        written = f"countdown={code(value)}.total_seconds()" if name == "eta" else f"expires={code(value)}.total_seconds()"
        return Judgement(CHANGE, f"a timedelta is refused: write {written}")
    if _has_no_zone(value):
        return Judgement(CHANGE, f"a time needs its zone: write {name}=datetime.now(UTC) + …, or datetime(…, tzinfo=UTC)")
    return None


def _has_no_zone(value: ast.expr) -> bool:
    """Return whether *value* is a time without a time zone, or such a time plus or minus something."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add | ast.Sub):
        return _has_no_zone(value.left) or _has_no_zone(value.right)
    if not isinstance(value, ast.Call):
        return False
    made = called(value)
    if made in _ZONELESS:
        return True
    if made == "replace" and isinstance(value.func, ast.Attribute):
        return not value.keywords or (all(one.arg not in (None, "tzinfo") for one in value.keywords) and _has_no_zone(value.func.value))
    named = any(one.arg in ("tz", "tzinfo", None) for one in value.keywords)
    return made in _PLACE_OF_ZONE and not named and len(value.args) <= _PLACE_OF_ZONE[made]
