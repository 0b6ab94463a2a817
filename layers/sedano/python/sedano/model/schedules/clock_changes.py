"""The changes of the clocks at which a cron schedule does something that its author may not expect. Pure: the span is an argument.

A schedule of fixed times (`30 2 * * *`) meets a **gap** when its time does not exist on a day, and a **fold** when it occurs twice. A
schedule whose minute or hour begins with a star runs by elapsed time, so no change surprises it (`sedano.model.schedules.timetable`).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Literal, NamedTuple
from zoneinfo import ZoneInfo

from sedano.model.schedules.timetable import Cron, between, read_expression, read_zone

DAY_S = 86_400


class ClockChange(NamedTuple):
    """A *kind* of change at *at* (epoch s) that a schedule meets; *policy* is the behaviour, *chosen*: the code names it."""

    kind: Literal["gap", "fold"]
    at: int
    policy: str
    chosen: bool


def clock_changes(timetable: Cron, after: float, until: float) -> Iterator[ClockChange]:
    """Yield the changes of the clocks between *after* and *until* (epoch s) at which the policy of *timetable* decides what runs."""
    if read_expression(timetable.expression).wild:
        return
    plain = timetable._replace(on_gap="next", on_fold="first")
    for at in _offsets_change(read_zone(timetable.tz), int(after), int(until)):
        span = at - DAY_S, at + DAY_S
        usual = list(between(plain, *span))
        if usual != list(between(plain._replace(on_gap="skip"), *span)):
            yield ClockChange("gap", at, timetable.on_gap or "next", timetable.on_gap is not None)
        if usual != list(between(plain._replace(on_fold="both"), *span)):
            yield ClockChange("fold", at, timetable.on_fold or "first", timetable.on_fold is not None)


def _offsets_change(zone: ZoneInfo, after: int, until: int) -> Iterator[int]:
    """Yield the moments at which the clocks of *zone* change, in order; two within one day count as one."""
    for begin in range(after, until, DAY_S):
        early, late = begin, min(begin + DAY_S, until)
        if _offset(early, zone) == _offset(late, zone):
            continue
        while late - early > 1:
            middle = (early + late) // 2
            early, late = (middle, late) if _offset(middle, zone) == _offset(begin, zone) else (early, middle)
        yield late


def _offset(moment: int, zone: ZoneInfo) -> object:
    return datetime.fromtimestamp(moment, UTC).astimezone(zone).utcoffset()
