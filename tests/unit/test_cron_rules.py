"""Cron expressions: what each field means, which days fit, and the words for what is none."""

from datetime import date, timedelta
from itertools import islice, pairwise

import pytest

from sedano.errors import OptionError
from sedano.model.schedules.cron import HORIZON_YEARS, LAST, LAST_WEEKDAY, Expression, read_cron

ALL_DAYS, ALL_MONTHS, ALL_WEEK = frozenset(range(1, 32)), frozenset(range(1, 13)), frozenset((day, 0) for day in range(7))

WORK_DAYS = frozenset((day, 0) for day in range(1, 6))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "*/15 0-6/2,9 1,15 jan-MAR MON-FRI",
            Expression((0, 15, 30, 45), (0, 2, 4, 6, 9), frozenset({1, 15}), frozenset({1, 2, 3}), WORK_DAYS, False, True),
        ),
        ("5/20 9 * * 7", Expression((5, 25, 45), (9,), ALL_DAYS, ALL_MONTHS, frozenset({(0, 0)}), True, False)),
        ("59 23 31 12 6", Expression((59,), (23,), frozenset({31}), frozenset({12}), frozenset({(6, 0)}), False, False)),
        ("0005 */12 */10 2/5 *", Expression((5,), (0, 12), frozenset({1, 11, 21, 31}), frozenset({2, 7, 12}), ALL_WEEK, True, True)),
        (
            "7 0 * * 1#2,5L,7L,7#5,SAT#1,wedL",
            Expression((7,), (0,), ALL_DAYS, ALL_MONTHS, frozenset({(1, 2), (5, LAST), (0, LAST), (0, 5), (6, 1), (3, LAST)}), True, False),
        ),
        ("0 0 L,LW,15 * 1", Expression((0,), (0,), frozenset({LAST, LAST_WEEKDAY, 15}), ALL_MONTHS, frozenset({(1, 0)}), False, False)),
        (" @Hourly ", Expression((0,), tuple(range(24)), ALL_DAYS, ALL_MONTHS, ALL_WEEK, True, True)),
        ("@annually", Expression((0,), (0,), frozenset({1}), frozenset({1}), ALL_WEEK, True, False)),
    ],
)  # fmt: skip
def test_an_expression_is_read_field_by_field(text: str, expected: Expression) -> None:
    assert read_cron(text) == expected


MINUTE = "give 0 to 59, as *, 5, 1-5, 1-5/2, */15 or a list 1,2"
WEEKDAY = "give 0 to 7 or SUN-SAT, as *, 5, 1-5, 1-5/2, */15 or a list 1,2"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("* * * *", "has 4 fields, not five (minute hour day-of-month month day-of-week)"),
        ("* * * * * *", "has 6 fields, not five (minute hour day-of-month month day-of-week); for seconds use every()"),
        ("* * * * * * *", "has 7 fields, not five (minute hour day-of-month month day-of-week)"),
        ("@never", "has 1 fields, not five (minute hour day-of-month month day-of-week)"),
        ("0 0 30 2 *", "never occurs: no year has such a day"),
        ("60 * * * *", f"'60' is not a valid minute; {MINUTE}"),
        ("L * * * *", f"'L' is not a valid minute; {MINUTE}"),
        ("LW * * * *", f"'LW' is not a valid minute; {MINUTE}"),
        ("5-1 * * * *", f"'5-1' is not a valid minute; {MINUTE}"),
        ("*/0 * * * *", f"'*/0' is not a valid minute; {MINUTE}"),
        ("*/x * * * *", f"'*/X' is not a valid minute; {MINUTE}"),
        ("00005 * * * *", f"'00005' is not a valid minute; {MINUTE}"),
        ("\u00b2 * * * *", f"'\u00b2' is not a valid minute; {MINUTE}"),
        ("* 24 * * *", "'24' is not a valid hour; give 0 to 23,"),
        ("* * 0 * *", "'0' is not a valid day-of-month; give 1 to 31,"),
        ("* * * 13 *", "'13' is not a valid month; give 1 to 12 or JAN-DEC,"),
        ("* * * * 8", f"'8' is not a valid day-of-week; {WEEKDAY}"),
        ("* * * * L", f"'L' is not a valid day-of-week; {WEEKDAY}"),
        ("* * * * MON#6", f"'MON#6' is not a valid day-of-week; {WEEKDAY}"),
        ("* * * * 8L", f"'8' is not a valid day-of-week; {WEEKDAY}"),
    ],
)
def test_what_is_no_expression_is_refused_with_what_it_may_be(text: str, why: str) -> None:
    with pytest.raises(OptionError) as caught:
        read_cron(text)
    told = str(caught.value)
    assert told.startswith(f"cron: {text!r}")
    assert told.removeprefix(f"cron: {text!r}").lstrip(": ").startswith(why)
    assert ("every()" in told) == ("every()" in why)


@pytest.mark.parametrize(
    ("text", "year", "month", "days"),
    [
        ("0 0 L * *", 2026, 2, [28]), ("0 0 L * *", 2024, 2, [29]), ("0 0 L * *", 2026, 12, [31]), ("0 0 L * *", 2026, 4, [30]),
        ("0 0 LW * *", 2026, 1, [30]), ("0 0 LW * *", 2026, 5, [29]), ("0 0 LW * *", 2026, 6, [30]), ("0 0 LW * *", 2027, 2, [26]),
        ("0 0 3,L,LW * *", 2026, 1, [3, 30, 31]), ("0 0 L 1-11 *", 2026, 12, []),
        ("0 0 * * FRIL", 2026, 1, [30]), ("0 0 * * SATL", 2026, 1, [31]), ("0 0 * * 0L", 2026, 1, [25]), ("0 0 * * 6L", 2026, 2, [28]),
        ("0 0 * * SUNL,MON", 2026, 2, [2, 9, 16, 22, 23]), ("0 0 * * WEDL", 2026, 12, [30]),
        ("0 0 13 * FRI", 2026, 1, [2, 9, 13, 16, 23, 30]), ("0 0 */12 * FRI", 2026, 3, [13]), ("0 0 13 3 *", 2026, 2, []),
        ("0 0 * * 4#1,4#5", 2026, 1, [1, 29]), ("0 0 * * 4#5", 2026, 2, []), ("0 0 L * MON#1", 2026, 6, [1, 30]),
        ("0 0 L * MON#1", 2026, 7, [6, 31]),
    ],
)  # fmt: skip
def test_the_days_of_a_month_that_fit(text: str, year: int, month: int, days: list[int]) -> None:
    later = list(islice(read_cron(text).dates(date(year, month, 1)), len(days) + 1))
    assert [day.day for day in later if (day.year, day.month) == (year, month)] == days


@pytest.mark.parametrize(
    ("text", "start", "dates"),
    [
        ("0 0 */28 2 MON#5", date(2016, 3, 1), [date(2044, 2, 29), date(2072, 2, 29), date(2112, 2, 29)]),
        ("0 0 29 2 *", date(2096, 2, 29), [date(2096, 2, 29), date(2104, 2, 29), date(2108, 2, 29)]),
        ("0 0 31 12 *", date(2026, 12, 31), [date(2026, 12, 31), date(2027, 12, 31), date(2028, 12, 31)]),
        ("0 0 1 1,12 *", date(2026, 11, 30), [date(2026, 12, 1), date(2027, 1, 1), date(2027, 12, 1)]),
        ("0 0 1 2 *", date(2026, 1, 31), [date(2026, 2, 1), date(2027, 2, 1)]),
        ("0 0 1 3 *", date(2028, 2, 29), [date(2028, 3, 1), date(2029, 3, 1)]),
        ("0 0 28 2 *", date(2026, 3, 31), [date(2027, 2, 28), date(2028, 2, 28)]),
        ("0 0 * 12 *", date(9998, 12, 30), [date(9998, 12, 30), date(9998, 12, 31)]),
        ("0 0 * * *", date(9999, 1, 1), []),
    ],
)  # fmt: skip
def test_the_days_from_a_day_on(text: str, start: date, dates: list[date]) -> None:
    ends = start.year > 9_990
    assert list(islice(read_cron(text).dates(start), len(dates) + ends)) == dates


def test_no_day_of_the_calendar_is_rarer_than_the_years_that_are_searched() -> None:
    leap_days = [day for year in range(2000, 2801) for day in [date(year, 3, 1) - timedelta(days=1)] if day.day == 29]
    rarest = max(
        later.year - day.year for weekday in range(7) for day, later in pairwise(one for one in leap_days if one.weekday() == weekday)
    )
    assert rarest == HORIZON_YEARS


def test_the_search_for_a_day_that_does_not_exist_ends_with_these_years() -> None:
    class Watched(frozenset[int]):
        asked = 0

        def __contains__(self, day: object) -> bool:
            self.asked += 1
            return super().__contains__(day)

    never = Expression((0,), (0,), Watched({30}), frozenset({2}), WORK_DAYS | {(0, 0), (6, 0)}, True, False)
    assert list(never.dates(date(2001, 1, 1))) == []
    days_of_february = sum((date(year, 3, 1) - date(year, 2, 1)).days for year in range(2001, 2042))
    assert never.days.asked == 3 * days_of_february  # type: ignore[attr-defined]


@pytest.mark.parametrize("text", [None, 5, b"* * * * *"])
def test_what_is_no_text_is_refused(text: object) -> None:
    with pytest.raises(OptionError, match=f"^cron: expected a string such as '0 9 \\* \\* MON-FRI', got {type(text).__name__}$"):
        read_cron(text)  # type: ignore[arg-type]
