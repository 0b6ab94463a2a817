"""A `crontab(…)` of Celery is written as the `cron(…)` with the same moments."""

import ast
import re

import pytest
from celery.schedules import crontab
from hypothesis import given
from hypothesis import strategies as st

from sedano import cron, every
from sedano.migration.schedules import FIELDS, cron_of, every_of
from sedano.model.schedules.timetable import read_expression


def call(text: str) -> ast.Call:
    """Return *text* as a call."""
    found = ast.parse(text, mode="eval").body
    assert isinstance(found, ast.Call)
    return found


def field(low: int, high: int) -> st.SearchStrategy[str]:
    """Return texts of a field."""
    number = st.integers(low, high).map(str)
    span = st.tuples(st.integers(low, high), st.integers(low, high)).map(lambda two: f"{min(two)}-{max(two)}")
    return number | span | st.integers(1, high).map(lambda n: f"*/{n}") | st.lists(number | span, min_size=2, max_size=3).map(",".join)


TEXTS = st.fixed_dictionaries(
    {}, optional={"minute": field(0, 59), "hour": field(0, 23), "day_of_month": field(1, 31), "month_of_year": field(1, 12),
                  "day_of_week": field(0, 6)},
)  # fmt: skip


@given(TEXTS)
def test_the_expression_has_the_moments_of_celery(given_fields: dict[str, str]) -> None:
    written = cron_of(call(f"crontab({', '.join(f'{name}={text!r}' for name, text in given_fields.items())})"))
    theirs = crontab(**given_fields)
    if written is None:
        both = all(not given_fields.get(name, "*").startswith("*") for name in ("day_of_month", "day_of_week"))
        assert both or theirs.day_of_month.isdisjoint(range(1, 29)), "only two lists of days, or a day that never occurs"
        return
    assert re.fullmatch(r'cron\("[^"]+"\)', written)
    eval(written, {"cron": cron})  # noqa: S307 - its form was checked
    ours = read_expression(written[6:-2])
    assert (set(ours.minutes), set(ours.hours), ours.months) == (theirs.minute, theirs.hour, theirs.month_of_year)
    assert (ours.days, {day for day, _ in ours.weekdays}) == (theirs.day_of_month, theirs.day_of_week)
    assert ours.both or len(ours.days) == 31 or len(ours.weekdays) == 7


@pytest.mark.parametrize(
    "text",
    [
        "crontab(minute=f'{x}')", "crontab(minute=[1, 2])", "crontab(0, 1, 2)", "crontab(**given)",
        "crontab(day_of_month=1, day_of_week=1)", "crontab(nowfun=now)", "crontab(minute='never')", "crontab(minute=True)",
    ],
)  # fmt: skip
def test_what_the_source_does_not_say_or_cron_cannot_is_not_written(text: str) -> None:
    assert cron_of(call(text)) is None


def test_fields_keep_their_order() -> None:
    assert FIELDS == ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")
    assert cron_of(call("crontab(5, '*/4', day_of_week='mon, fri')")) == 'cron("5 */4 * * mon,fri")'


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("30", "every(30)"), ("30.0", "every(30)"), ("timedelta(minutes=5)", "every(minutes=5)"), ("0.5", None), ("True", None),
        ("datetime.timedelta(hours=1, seconds=2)", "every(hours=1, seconds=2)"), ("timedelta(weeks=1)", "every(604800)"),
        ("timedelta(1)", "every(86400)"),
        ("other(minutes=5)", None), ("x", None), ("timedelta(milliseconds=5)", None),
    ],
)  # fmt: skip
def test_an_interval_is_written_as_every(text: str, written: str | None) -> None:
    assert every_of(ast.parse(text, mode="eval").body) == written
    if written is not None:
        eval(written, {"every": every})  # noqa: S307 - it is one of the texts above
