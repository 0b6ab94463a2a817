"""Cron expressions of five fields: their days, hours and minutes. Without clock and time zone, which `model.schedules.timetable` adds.

The meaning is that of Vixie's cron in Debian: if day-of-month or day-of-week begins with a star, both must match; otherwise one of them is
enough. Additional terms, as in Quartz, are `L` (last day of the month), `LW` (last Monday to Friday of the month), `FRI#2` (second Friday),
`5L` (last Friday). Checked against the independent library cronsim by `tests/unit/cron_oracle.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from typing import NamedTuple

from sedano.errors import OptionError

LAST, LAST_WEEKDAY = -1, -2
"""Days that are counted from the end of a month."""
HORIZON_YEARS = 40
"""The most years between two matches: a fifth Monday on a 29 February recurs 40 years after 2072, because 2100 has none."""
_MONTHS = {name: n for n, name in enumerate(["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"], 1)}
_DAYS = {name: n for n, name in enumerate(["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"])}
_ALIASES = {
    "@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
}  # fmt: skip
_MOST_DIGITS = 4


class _Field(NamedTuple):
    name: str
    low: int
    high: int
    names: dict[str, int]


_FIELDS = (
    _Field("minute", 0, 59, {}), _Field("hour", 0, 23, {}), _Field("day-of-month", 1, 31, {}),
    _Field("month", 1, 12, _MONTHS), _Field("day-of-week", 0, 7, _DAYS),
)  # fmt: skip


class Expression(NamedTuple):
    """A parsed cron expression. *weekdays* are pairs: the day (0 is Sunday), and 0 for every such day, 1 to 5 for the n-th of its month, or
    `LAST`.

    *both*: day-of-month and day-of-week must both match; *wild*: minute or hour begins with a star, so it runs by elapsed time.
    """

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[tuple[int, int]]
    both: bool
    wild: bool

    def dates(self, start: date) -> Iterator[date]:
        """Yield the matching days from *start* on, in order, until no day matches for `HORIZON_YEARS`, or the last year begins."""
        day, last = start, start
        while day.year < date.max.year and day.year - last.year <= HORIZON_YEARS:
            if day.month not in self.months:
                day = _end_of_month(day)
            elif self._fits(day):
                yield (last := day)
            day += timedelta(days=1)

    def _fits(self, day: date) -> bool:
        """Return whether *day* matches, which is in one of the months."""
        if self.both:
            return self._fits_week(day) and self._fits_month(day)
        return self._fits_month(day) or self._fits_week(day)

    def _fits_month(self, day: date) -> bool:
        if day.day in self.days or (LAST in self.days and day == _end_of_month(day)):
            return True
        return LAST_WEEKDAY in self.days and day == _last_weekday(day)

    def _fits_week(self, day: date) -> bool:
        weekday = day.isoweekday() % 7
        if (weekday, 0) in self.weekdays or (weekday, (day.day + 6) // 7) in self.weekdays:
            return True
        return (weekday, LAST) in self.weekdays and day.day + 7 > _end_of_month(day).day


def _end_of_month(day: date) -> date:
    if day.month == 12:
        return day.replace(day=31)
    return day.replace(month=day.month + 1, day=1) - timedelta(days=1)


def _last_weekday(day: date) -> date:
    """Return the last Monday to Friday of the month of *day*."""
    end = _end_of_month(day)
    return end - timedelta(days=max(0, end.isoweekday() - 5))


def read_cron(text: str) -> Expression:
    """Read a cron expression of five fields (minute, hour, day-of-month, month, day-of-week), or an alias such as ``@daily``.

    Raises:
        OptionError: *text* is not a cron expression, has a value out of range, or only matches a day that does not exist.
    """
    if not isinstance(text, str):
        raise OptionError(f"cron: expected a string such as '0 9 * * MON-FRI', got {type(text).__name__}")
    parts = _ALIASES.get(text.strip().lower(), text).upper().split()
    if len(parts) != len(_FIELDS):
        hint = "; for seconds use every()" if len(parts) == len(_FIELDS) + 1 else ""
        raise OptionError(f"cron: {text!r} has {len(parts)} fields, not five (minute hour day-of-month month day-of-week){hint}")
    minutes, hours, days, months = (
        frozenset(n for term in part.split(",") for n in _numbers(text, field, term))
        for field, part in zip(_FIELDS, parts[:4], strict=False)
    )
    weekdays = frozenset(pair for term in parts[4].split(",") for pair in _weekdays(text, term))
    expression = Expression(
        minutes=tuple(sorted(minutes)), hours=tuple(sorted(hours)), days=days, months=months, weekdays=weekdays,
        both=parts[2].startswith("*") or parts[4].startswith("*"), wild=parts[0].startswith("*") or parts[1].startswith("*"),
    )  # fmt: skip
    if next(expression.dates(date.min), None) is None:
        raise OptionError(f"cron: {text!r} never occurs: no year has such a day")
    return expression


def _numbers(text: str, field: _Field, term: str) -> list[int]:
    """Return the numbers that one *term* of a list matches."""
    if field.name == "day-of-month" and term in ("L", "LW"):
        return [LAST if term == "L" else LAST_WEEKDAY]
    span, slash, step = term.partition("/")
    low, dash, high = span.partition("-")
    if span == "*":
        first, last = field.low, field.high
    else:
        first = _number(text, field, low)
        last = _number(text, field, high) if dash else (field.high if slash else first)
    width = _plain(step) if slash else 1
    if first > last or not width:
        raise _wrong(text, field, term)
    return list(range(first, last + 1, width))


def _weekdays(text: str, term: str) -> list[tuple[int, int]]:
    field = _FIELDS[4]
    day, sharp, nth = term.partition("#")
    if sharp:
        if nth not in ("1", "2", "3", "4", "5"):
            raise _wrong(text, field, term)
        return [(_number(text, field, day) % 7, int(nth))]
    if term.endswith("L") and term[:-1]:
        return [(_number(text, field, term[:-1]) % 7, LAST)]
    return [(number % 7, 0) for number in _numbers(text, field, term)]


def _number(text: str, field: _Field, word: str) -> int:
    found = field.names.get(word, _plain(word))
    if found is None or not field.low <= found <= field.high:
        raise _wrong(text, field, word)
    return found


def _plain(word: str) -> int | None:
    return int(word) if word.isascii() and word.isdigit() and len(word) <= _MOST_DIGITS else None


def _wrong(text: str, field: _Field, term: str) -> OptionError:
    names = f" or {'-'.join((next(iter(field.names)), [*field.names][-1]))}" if field.names else ""
    return OptionError(
        f"cron: {text!r}: {term!r} is not a valid {field.name}; "
        f"give {field.low} to {field.high}{names}, as *, 5, 1-5, 1-5/2, */15 or a list 1,2"
    )
