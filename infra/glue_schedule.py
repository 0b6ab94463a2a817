"""Glue's rules for schedules, checked before a deployment: Glue reports an error after minutes, and none for a day that does not exist.

Source: AWS Glue, "Time-based schedules for jobs and crawlers": `cron(Minutes Hours Day-of-month Month Day-of-week Year)` in UTC, a `?` in
one of the two fields of days, not more often than every five minutes.

The cron expressions of the library (`sedano.model.schedules.cron`) are another language: they have five fields and a time zone, both fields
of days may be given, and Sunday is 0.
"""

import re
from calendar import isleap
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

SHORTEST_MINUTES = 5
_SIX = re.compile(r"cron\((\S+) (\S+) (\S+) (\S+) (\S+) (\S+)\)")
_PART = re.compile(r"(\*|(?P<first>\w+)(-(?P<last>\w+))?)(/(?P<step>[1-9]\d{0,3}))?")
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_LONGEST = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


class _Field(NamedTuple):
    """One of the six: its name, its range, the words for its numbers, and what else it may be, as a pattern."""

    name: str
    least: int
    most: int
    words: tuple[str, ...] = ()
    special: str = r"(?!)"


_FIELDS = (
    _Field("Minutes", 0, 59),
    _Field("Hours", 0, 23),
    _Field("Day-of-month", 1, 31, special=r"\?|L|LW|([1-9]|[12]\d|3[01])W"),
    _Field("Month", 1, 12, _MONTHS),
    _Field("Day-of-week", 1, 7, _DAYS, r"\?|L|[1-7]L|[1-7]#[1-5]"),
    _Field("Year", 1970, 2199),
)


def wrong_with(schedule: str, year: int) -> str | None:
    """Return why Glue would run nothing by *schedule* from *year* on, as the expected value instead; None if it is a valid schedule."""
    six = _SIX.fullmatch(schedule)
    if six is None:
        return "six fields and one blank between them, such as cron(15 * * * ? *)"
    read = [_read(field, text) for field, text in zip(_FIELDS, six.groups(), strict=True)]
    for field, numbers in zip(_FIELDS, read, strict=True):
        if numbers is None:
            said = f", or {' '.join(field.words)}" if field.words else ""
            return f"{field.name} of {field.least} to {field.most}{said}"
    minutes, hours, days, months, _, years = (numbers or set() for numbers in read)
    if [six[3], six[5]].count("?") != 1:
        return "a ? in one of Day-of-month and Day-of-week, and days in the other"
    if _closest(minutes, hours) < SHORTEST_MINUTES:
        return f"runs that are at least {SHORTEST_MINUTES} minutes apart, which Glue requires"
    coming = {one for one in years if one >= year}
    if not coming or (days and not _comes(days, months, coming)):
        return f"a day that exists; from {year} on no such day does"
    return None


def _read(field: _Field, text: str) -> set[int] | None:
    """Return the numbers that a field names; none where it names days in another way; None where it cannot be read."""
    if re.fullmatch(field.special, text):
        return {int(text[:-1])} if re.fullmatch(r"\d+W", text) else set()
    found: set[int] = set()
    for part in text.split(","):
        match = _PART.fullmatch(part)
        if match is None:
            return None
        first = field.least if match["first"] is None else _number(field, match["first"])
        open_ended = match["first"] is None or (match["step"] is not None and match["last"] is None)
        last = field.most if open_ended else _number(field, match["last"] or match["first"])
        if first is None or last is None or first > last:
            return None
        found.update(range(first, last + 1, int(match["step"] or 1)))
    return found


def _number(field: _Field, text: str) -> int | None:
    number = field.words.index(text) + 1 if text in field.words else int(text) if text.isdecimal() and text.isascii() else -1
    return number if field.least <= number <= field.most else None


def _closest(minutes: Iterable[int], hours: set[int]) -> int:
    """Return the fewest minutes between two consecutive runs."""
    inside = sorted(minutes)
    across = [60 + inside[0] - inside[-1]] if any((hour + 1) % 24 in hours for hour in hours) else []
    return min([second - first for first, second in pairwise(inside)] + across, default=60)


def _comes(days: set[int], months: set[int], years: set[int]) -> bool:
    """Return whether one of the days is in one of the months of one of the years."""
    if any(day <= _LONGEST[month - 1] - (month == 2) for day in days for month in months):
        return True
    return 29 in days and 2 in months and any(map(isleap, years))
