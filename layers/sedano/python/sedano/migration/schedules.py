"""Writes Celery's timetables as those of sedano: `crontab(…)` as `cron("…")`, seconds and `timedelta` as `every(…)`."""

from __future__ import annotations

import ast

from sedano.errors import OptionError
from sedano.migration.syntax import constant_of, span_of
from sedano.model.schedules.timetable import every, read_expression

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
    """Return the `every(…)` of a number of seconds or a `timedelta(…)`; None for another one, or what `every` refuses."""
    number, span = constant_of(value), span_of(value)
    if span is None and isinstance(number, int | float) and not isinstance(number, bool):
        return f"every({int(number)})" if _is_interval(number) else None
    if span is None or not isinstance(value, ast.Call) or not _is_interval(span.total_seconds()):
        return None
    keywords = {one.arg for one in value.keywords}
    if value.args or not keywords <= _SPANS:
        return f"every({int(span.total_seconds())})"
    return f"every({', '.join(ast.unparse(one) for one in value.keywords)})"


def _is_interval(seconds: float) -> bool:
    try:
        every(seconds)
    except (OptionError, OverflowError, ValueError):
        return False
    return True


def _text(value: ast.expr) -> str | None:
    """Return the field that a constant *value* is, without spaces, which Celery allows."""
    if not isinstance(value, ast.Constant) or not isinstance(value.value, int | str) or isinstance(value.value, bool):
        return None
    try:
        return "".join(str(value.value).split())
    except ValueError:  # a number of more digits than Python writes
        return None
