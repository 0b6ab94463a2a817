"""Writes Celery's timetables as those of sedano: `crontab(…)` as `cron("…")`, seconds and `timedelta` as `every(…)`."""

from __future__ import annotations

import ast

from sedano.errors import OptionError
from sedano.model.schedules.timetable import read_expression

FIELDS = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")
_SPANS = frozenset({"seconds", "minutes", "hours", "days"})


def cron_of(call: ast.Call) -> str | None:
    """Return the `cron(…)` that has the moments of the `crontab(…)` *call*; None if the source does not say, or no expression has them.

    Celery runs on days that match both day fields. A cron expression does so only if one of them begins with a star.
    """
    given = {FIELDS[place]: argument for place, argument in enumerate(call.args[:2])}
    given |= {one.arg: one.value for one in call.keywords if one.arg is not None}
    if len(call.args) > 2 or not set(given) <= set(FIELDS) or any(one.arg is None for one in call.keywords):
        return None
    texts = {name: _text(value) for name, value in given.items()}
    if None in texts.values():
        return None
    fields = [texts.get(name) or "*" for name in FIELDS]
    if not fields[2].startswith("*") and not fields[4].startswith("*"):
        return None
    expression = " ".join(fields)
    try:
        read_expression(expression)
    except OptionError:
        return None
    return f'cron("{expression}")'


def every_of(value: ast.expr) -> str | None:
    """Return the `every(…)` of a number of seconds or a `timedelta(…)`; None for another expression."""
    if isinstance(value, ast.Constant) and isinstance(value.value, int | float) and not isinstance(value.value, bool):
        return f"every({value.value:g})" if value.value >= 1 and value.value == int(value.value) else None
    is_span = isinstance(value, ast.Call) and ast.unparse(value.func).rpartition(".")[2] == "timedelta"
    if isinstance(value, ast.Call) and is_span and not value.args and {one.arg for one in value.keywords} <= _SPANS:
        return f"every({', '.join(ast.unparse(one) for one in value.keywords)})"
    return None


def _text(value: ast.expr) -> str | None:
    """Return the field that a constant *value* is, without spaces, which Celery allows."""
    if isinstance(value, ast.Constant) and isinstance(value.value, int | str) and not isinstance(value.value, bool):
        return "".join(str(value.value).split())
    return None
