"""A schedule by which Glue would never run the history job, or which it would refuse, is refused beforehand."""

import pytest

from infra.glue_schedule import wrong_with

YEAR = 2026


@pytest.mark.parametrize("schedule", [
    "cron(15 * * * ? *)", "cron(0 10 * * ? *)", "cron(0 18 ? * MON-FRI *)", "cron(0/15 * * * ? *)", "cron(0/10 * ? * MON-FRI *)",
    "cron(0 8 1 * ? *)", "cron(0/5 8-17 ? * MON-FRI *)", "cron(0 0 L * ? *)", "cron(0 0 3W JAN,JUL ? *)", "cron(0 0 ? * 2#1 *)",
    "cron(0 0 ? * L 2026-2030)", "cron(0 0 29 2 ? *)", "cron(0 0 31 1/2 ? *)", "cron(5,30 0,12 15 6 ? 2026)", "cron(2,58 12 * * ? *)",
])  # fmt: skip
def test_what_glue_runs_by_is_taken(schedule: str) -> None:
    assert wrong_with(schedule, YEAR) is None


@pytest.mark.parametrize(("schedule", "expected"), [
    ("rate(1 hour)", "six fields"),
    ("cron(15 * * * ?)", "six fields"),
    ("cron(15 * * * ? * *)", "six fields"),
    ("cron(60 * * * ? *)", "Minutes of 0 to 59"),
    ("cron(0 24 * * ? *)", "Hours of 0 to 23"),
    ("cron(0 0 0 * ? *)", "Day-of-month of 1 to 31"),
    ("cron(0 0 1 JANUARY ? *)", "Month of 1 to 12, or JAN FEB"),
    ("cron(0 0 ? * MO *)", "Day-of-week of 1 to 7, or SUN MON"),
    ("cron(0 0 ? * 8 *)", "Day-of-week of 1 to 7"),
    ("cron(0 0 1 * ? 2200)", "Year of 1970 to 2199"),
    ("cron(0 17-8 * * ? *)", "Hours of 0 to 23"),
    ("cron(0 */0 * * ? *)", "Hours of 0 to 23"),
    ("cron(0 0 * * * *)", "a ? in one of"),
    ("cron(0 0 ? * ? *)", "a ? in one of"),
    ("cron(* * * * ? *)", "runs that are at least 5 minutes apart"),
    ("cron(0,4 12 * * ? *)", "runs that are at least 5 minutes apart"),
    ("cron(2,58 * * * ? *)", "runs that are at least 5 minutes apart"),
    ("cron(0 0 30 2 ? *)", "a day that exists; from 2026 on no such day does"),
    ("cron(0 0 31 4,6,9,11 ? *)", "a day that exists"),
    ("cron(0 0 29 FEB ? 2027)", "a day that exists"),
    ("cron(0 0 31W 6 ? *)", "a day that exists"),
    ("cron(0 0 1 1 ? 2025)", "a day that exists"),
])  # fmt: skip
def test_what_glue_refuses_or_never_runs_by_is_refused_by_what_was_expected(schedule: str, expected: str) -> None:
    said = wrong_with(schedule, YEAR)
    assert said is not None
    assert said.startswith(expected)
