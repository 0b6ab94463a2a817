"""Mutants of timetables that no test can notice, with the reasons."""

from __future__ import annotations

from collections.abc import Mapping

from tests.mutants.mutant import Key

_TIMETABLE = "sedano.model.schedules.timetable"
SCHEDULES: Mapping[Key, str] = {
    (
        _TIMETABLE,
        "Cron.following",
        "ready = {moment for moment in waiting if moment < begin}",
        "`moment < begin` → `moment <= begin`",
    ): "nothing of this day is before its beginning, so a moment that is the beginning comes next either way",
    (
        _TIMETABLE,
        "_moments_of",
        "change = _clock_change(begin, end, zone) if before != after else end",
        "`_clock_change(begin, end, zone) if before != after else end` → `_clock_change(begin, end, zone)`",
    ): "a short cut for most days: the search finds no change before the end of the day",
    **{
        (_TIMETABLE, "_DAY_S", "_DAY_S = 86_400", f"`_DAY_S` {sign} 1"): (
            "the step of a search and the margin around what it finds: any length beyond that of a leap of the clocks finds the same"
        )
        for sign in "+-"
    },
}
