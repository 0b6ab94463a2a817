"""When something comes round: the same as two independent meanings of cron, and what is declared where clocks change."""

import random
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.errors import OptionError
from sedano.model.schedules.timetable import (
    END_S,
    MOST_MOMENTS,
    YEAR_S,
    At,
    Every,
    at,
    between,
    cron,
    every,
    read_timetable,
    upcoming,
    written,
)
from tests.unit.cron_oracle import ZONES, disagreements, every_change

BERLIN = ZoneInfo("Europe/Berlin")
SPRING, AUTUMN = datetime(2026, 3, 28, 12, tzinfo=BERLIN).timestamp(), datetime(2026, 10, 24, 12, tzinfo=BERLIN).timestamp()
NIGHT = "30 2 * * *"


def shown(timetable, after, number=3):
    return [moment.strftime("%d %H:%M %Z") for moment in upcoming(timetable, after, number)]


def test_every_change_of_clocks_from_2020_to_2035_agrees_with_cronsim_and_with_a_walk_through_the_minutes():
    print("seed 7")
    assert list(disagreements(random.Random(7), len(every_change()))) == []


@pytest.mark.parametrize(
    ("policy", "days"),
    [({}, "29 03:00 CEST"), ({"on_gap": "next"}, "29 03:00 CEST"), ({"on_gap": "skip"}, "30 02:30 CEST")],
)
def test_a_time_in_a_gap_runs_at_its_end_or_not_at_all(policy, days):
    assert shown(cron(NIGHT, tz="Europe/Berlin", **policy), SPRING, 1) == [days]


def test_two_times_in_one_gap_are_one_occurrence_at_its_end():
    assert shown(cron("10,20 2,3 * * *", tz="Europe/Berlin"), SPRING) == ["29 03:00 CEST", "29 03:10 CEST", "29 03:20 CEST"]


def test_a_time_in_a_fold_runs_once_or_each_time():
    assert shown(cron(NIGHT, tz="Europe/Berlin"), AUTUMN, 2) == ["25 02:30 CEST", "26 02:30 CET"]
    assert shown(cron(NIGHT, tz="Europe/Berlin", on_fold="both"), AUTUMN) == ["25 02:30 CEST", "25 02:30 CET", "26 02:30 CET"]


def test_what_runs_by_elapsed_time_neither_stops_in_a_fold_nor_bunches_after_a_gap():
    half_hours = cron("*/30 * * * *", tz="Europe/Berlin")
    for moment in (SPRING, AUTUMN):
        moments = list(islice(half_hours.following(moment), 60))
        assert {b - a for a, b in pairwise(moments)} == {1_800}


@given(st.sampled_from(ZONES), st.integers(1_577_836_800, 2_082_758_400), st.sampled_from(["*/5 * * * *", "30 2 * * *", "15 1-3 * * SUN"]))
def test_moments_rise_strictly_and_looking_from_any_of_them_gives_the_rest(zone, after, text):
    timetable = cron(text, tz=zone, on_gap="next", on_fold="both")
    moments = list(islice(timetable.following(after), 6))
    assert moments == sorted(set(moments))
    assert moments[0] > after
    for number, moment in enumerate(moments[:-1]):
        assert next(timetable.following(moment)) == moments[number + 1]


@given(st.integers(1, 100_000), st.integers(0, 2**31), st.floats(0, 2**32))
def test_an_interval_comes_at_its_multiples_only_and_leaves_none_out(seconds, start, after):
    timetable = every(seconds, start=datetime.fromtimestamp(start, UTC))
    first, second = islice(timetable.following(after), 2)
    assert (first - start) % seconds == 0
    assert first > after
    assert first == start or first - seconds <= after
    assert second - first == seconds


def test_intervals_below_a_minute_and_given_moments():
    assert list(islice(every(10).following(1_000_000_003), 2)) == [1_000_000_010, 1_000_000_020]
    assert every(minutes=1.5).seconds == 90
    later, sooner = datetime(2027, 1, 1, 0, 0, 0, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=BERLIN)
    assert upcoming(at(later, sooner, sooner), 0, 9) == [sooner, later.replace(second=1, microsecond=0)]
    assert list(between(every(60), 0, 120)) == [60, 120]


@pytest.mark.parametrize(
    "timetable",
    [cron("0 9 * * MON-FRI", tz="Europe/Berlin", on_gap="skip", on_fold="both"), cron("@daily"), every(7),
     every(hours=1, start=datetime(2026, 1, 1, tzinfo=UTC)), at(datetime(2026, 1, 1, tzinfo=UTC))],
)  # fmt: skip
def test_a_timetable_that_was_written_is_read_back(timetable):
    assert read_timetable(*written(timetable)) == timetable


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: cron("0 0 30 2 *"), "never occurs"),
        (lambda: cron("0 0 31 4,6,9,11 *"), "never occurs"),
        (lambda: cron("60 * * * *"), "'60' is not a valid minute; give 0 to 59"),
        (lambda: cron("* 24 * * *"), "'24' is not a valid hour"),
        (lambda: cron("* * 0 * *"), "'0' is not a valid day-of-month"),
        (lambda: cron("* * * FOO *"), "'FOO' is not a valid month; give 1 to 12 or JAN-DEC"),
        (lambda: cron("* * * * MON#6"), "'MON#6' is not a valid day-of-week"),
        (lambda: cron("5-1 * * * *"), "'5-1' is not a valid minute"),
        (lambda: cron("*/0 * * * *"), r"'\*/0' is not a valid minute"),
        (lambda: cron("*/x * * * *"), r"'\*/X' is not a valid minute"),
        (lambda: cron("1,,2 * * * *"), "'' is not a valid minute"),
        (lambda: cron("\u0665 * * * *"), "is not a valid minute"),
        (lambda: cron("-1 * * * *"), "'' is not a valid minute"),
        (lambda: cron("0 12 * * ?"), r"'\?' is not a valid day-of-week"),
        (lambda: cron("0 0 12 * * *"), "has 6 fields, not five .*; for seconds use every"),
        (lambda: cron(""), "has 0 fields"),
        (lambda: cron(5), "expected a string"),
        (lambda: cron("* * * * *", tz="Europe/Bonn"), "'Europe/Bonn' is not a time zone"),
        (lambda: cron("* * * * *", tz="/etc/localtime"), "is not a time zone"),
        (lambda: cron("* * * * *", tz=""), "is not a time zone"),
        (lambda: cron("* * * * *", tz=None), "is not a time zone"),
        (lambda: cron("* * * * *", on_gap="first"), "on_gap: 'first' is not one of next, skip"),
        (lambda: cron("* * * * *", on_fold="skip"), "on_fold: 'skip' is not one of first, both"),
        (lambda: every(0), "from 1 to"),
        (lambda: every(-5), "from 1 to"),
        (lambda: every(0.5), "not a whole number of seconds"),
        (lambda: every(days=400), "from 1 to"),
        (lambda: every(float("nan")), "from 1 to"),
        (lambda: every(float("inf")), "from 1 to"),
        (lambda: every("5"), "expected a number, got str"),
        (lambda: every(5, start=datetime.fromisoformat("2026-01-01")), "start: expected a datetime with a time zone"),
        (at, "give 1 to 1000"),
        (lambda: at(datetime.fromisoformat("2026-01-01")), "at: expected a datetime with a time zone"),
        (lambda: at("tomorrow"), "at: expected a datetime with a time zone"),
        (lambda: read_timetable("moon", ()), "'moon' is not one of cron, every, at"),
        (lambda: read_timetable("cron", ("* * * * *",)), "timetable: cron: 1 values instead of 4: expression, tz, on_gap, on_fold"),
        (lambda: read_timetable("cron", (5, "UTC", None, None)), "timetable: cron: expression: 5 is not a string"),
        (lambda: read_timetable("cron", ("* * * * *", None, None, None)), "timetable: cron: tz: None is not a string"),
        (lambda: read_timetable("cron", ("* * * * *", "Moon", None, None)), "timetable: cron: tz: "),
        (lambda: read_timetable("cron", ("* * * * *", "UTC", "twice", None)), "timetable: cron: on_gap: 'twice' is not one of next, skip"),
        (lambda: read_timetable("cron", ("* * * * *", "UTC", None, "never")), "cron: on_fold: 'never' is not one of first, both"),
        (lambda: read_timetable("every", (0, 0)), "timetable: every: "),
        (lambda: read_timetable("every", (True, 0)), "timetable: every: seconds: True is not a whole number"),
        (lambda: read_timetable("every", (5, "0")), "timetable: every: start: '0' is not a whole number"),
        (lambda: read_timetable("at", ("x",)), r"timetable: at: moments\[0\]: 'x' is not a whole number"),
        (lambda: read_timetable("at", (5, 10**20)), r"timetable: at: moments\[1\]: 10{20} is not a time before the year 9999"),
    ],
)  # fmt: skip
def test_what_cannot_be_honoured_is_refused_and_says_what_would_be(make, says):
    with pytest.raises(OptionError, match=says):
        make()


def test_a_rare_day_is_found_and_the_end_of_the_calendar_ends():
    leap = upcoming(cron("0 0 * 2 MON#5"), datetime(2020, 1, 1, tzinfo=UTC).timestamp(), 2)
    assert [day.date().isoformat() for day in leap] == ["2044-02-29", "2072-02-29"]
    last = datetime(9999, 12, 31, 23, tzinfo=UTC) - timedelta(days=1)
    assert len(upcoming(cron("0 0 * * *"), last.timestamp(), 5)) <= 1


def test_nothing_comes_round_after_the_last_year_that_every_calendar_shows():
    late = read_timetable("every", (3_600, 253_370_764_800 - 7_200))
    assert [moment.isoformat() for moment in upcoming(late, 0, 9)] == ["9998-12-31T22:00:00+00:00", "9998-12-31T23:00:00+00:00"]
    with pytest.raises(OptionError, match="start: 18446744073709551616 is not a time before the year 9999"):
        read_timetable("every", (60, 2**64))


def test_the_figures_of_timetables_are_those_that_are_described():
    assert (366 * 86_400, int(datetime(9999, 1, 1, tzinfo=UTC).timestamp()), 1_000) == (YEAR_S, END_S, MOST_MOMENTS)


@pytest.mark.parametrize(
    ("options", "seconds"),
    [({"seconds": 1}, 1), ({"minutes": 1}, 60), ({"hours": 1}, 3_600), ({"days": 1}, 86_400), ({"days": 366}, 31_622_400),
     ({"seconds": 5, "minutes": 4, "hours": 3, "days": 2}, 183_845), ({"minutes": 0.5}, 30)],
)  # fmt: skip
def test_an_interval_is_the_sum_of_its_parts(options, seconds):
    assert every(**options) == Every(seconds, 0)


@pytest.mark.parametrize("options", [{"seconds": 0}, {"seconds": 0.5}, {"seconds": 1.5}, {"seconds": 31_622_401}, {"days": -1}, {}])
def test_an_interval_is_whole_seconds_up_to_a_year(options):
    with pytest.raises(OptionError, match=r"^every: .* s is not a whole number of seconds from 1 to 31622400$"):
        every(**options)


@pytest.mark.parametrize("value", [True, "1", None])
def test_an_interval_is_a_number(value):
    with pytest.raises(OptionError, match=f"^every: expected a number, got {type(value).__name__}$"):
        every(value)


@pytest.mark.parametrize(
    ("table", "after", "moments"),
    [
        (Every(10, 5), 0, [5, 15, 25]), (Every(10, 5), 5, [15, 25, 35]), (Every(10, 5), 4.5, [5, 15, 25]),
        (Every(10, 5), -100, [5, 15, 25]),
        (At((5, 15)), 5, [15]), (At((5, 15)), 4.5, [5, 15]), (At((5, 15)), 15, []),
        (Every(1), 253_370_764_798, [253_370_764_799]), (Every(86_400), END_S - 86_400, []),
        (Every(86_400), END_S - 86_401, [END_S - 86_400]),
    ],
)  # fmt: skip
def test_the_moments_after_a_moment(table, after, moments):
    assert list(islice(table.following(after), 3)) == moments


def test_a_thousand_moments_may_be_given_in_any_order_and_are_rounded_up():
    some = [datetime.fromtimestamp(1_000_000 - number - 0.5, UTC) for number in range(1_000)]
    assert at(*some) == At(tuple(range(999_001, 1_000_001)))
    for wrong in ([], [*some, some[0]]):
        with pytest.raises(OptionError, match=f"^at: {len(wrong)} moments; give 1 to 1000$"):
            at(*wrong)


def test_of_two_mistakes_the_expression_is_named_first():
    with pytest.raises(OptionError, match=r"^cron: "):
        cron("x", tz="Nowhere")
    with pytest.raises(OptionError, match=r"^tz: 'Nowhere' is not a time zone of this machine; give a name such as "):
        cron("@daily", tz="Nowhere")


def wall(text, zone, after, number=3, **policy):
    start = datetime.fromisoformat(after).replace(tzinfo=ZoneInfo(zone)).timestamp()
    return [moment.strftime("%d %H:%M %z") for moment in upcoming(cron(text, tz=zone, **policy), start, number)]


@pytest.mark.parametrize(
    ("text", "zone", "after", "policy", "expected"),
    [
        ("30 12 * * *", "UTC", "2026-01-01T10:00", {}, ["01 12:30 +0000", "02 12:30 +0000", "03 12:30 +0000"]),
        ("30 12 * * *", "UTC", "2026-01-01T12:30", {}, ["02 12:30 +0000", "03 12:30 +0000", "04 12:30 +0000"]),
        ("0 0,23 * * *", "Europe/Berlin", "2026-01-01T23:00", {}, ["02 00:00 +0100", "02 23:00 +0100", "03 00:00 +0100"]),
        ("*/30 2 * * *", "Europe/Berlin", "2026-03-28T03:00", {}, ["30 02:00 +0200", "30 02:30 +0200", "31 02:00 +0200"]),
        ("*/30 2 * * *", "Europe/Berlin", "2026-03-28T03:00", {"on_gap": "next"}, ["29 03:00 +0200", "30 02:00 +0200", "30 02:30 +0200"]),
        ("*/30 2 * * *", "Europe/Berlin", "2026-10-24T03:00", {}, ["25 02:00 +0200", "25 02:30 +0200", "25 02:00 +0100"]),
        ("*/30 2 * * *", "Europe/Berlin", "2026-10-24T03:00", {"on_fold": "first"}, ["25 02:00 +0200", "25 02:30 +0200"]),
        ("30 0,1,23 * * *", "America/Havana", "2026-10-31T23:00", {"on_fold": "both"}, ["31 23:30 -0400", "01 00:30 -0400"]),
        ("30 0 * * *", "America/Havana", "2026-11-01T00:00", {"on_fold": "both"}, ["01 00:30 -0400", "01 00:30 -0500", "02 00:30 -0500"]),
        ("30 0,1 * * *", "America/Havana", "2026-11-01T00:00", {}, ["01 00:30 -0400", "01 01:30 -0500", "02 00:30 -0500"]),
        ("30 0 * * *", "America/Havana", "2026-03-07T12:00", {}, ["08 01:00 -0400", "09 00:30 -0400", "10 00:30 -0400"]),
        ("0,30 0,23 * * *", "America/St_Johns", "2010-11-06T12:00", {"on_fold": "both"},
         ["06 23:00 -0230", "06 23:30 -0230", "07 00:00 -0230", "06 23:30 -0330", "07 00:00 -0330", "07 00:30 -0330"]),
        ("0,30 0,23 * * *", "America/St_Johns", "2010-11-06T12:00", {},
         ["06 23:00 -0230", "06 23:30 -0230", "07 00:00 -0230", "07 00:30 -0330"]),
        ("0 2 * * *", "Europe/Berlin", "2026-03-28T03:00", {}, ["29 03:00 +0200", "30 02:00 +0200"]),
        ("0 3 * * *", "Europe/Berlin", "2026-10-24T03:00", {}, ["25 03:00 +0100", "26 03:00 +0100"]),
        ("0 3 * * *", "Europe/Berlin", "2026-03-28T03:00", {}, ["29 03:00 +0200", "30 03:00 +0200"]),
        ("0 2,3 * * *", "Europe/Berlin", "2026-03-28T03:00", {"on_gap": "skip"}, ["29 03:00 +0200", "30 02:00 +0200", "30 03:00 +0200"]),
        ("0 2,3 * * *", "Europe/Berlin", "2026-10-24T03:00", {"on_fold": "both"}, ["25 02:00 +0200", "25 02:00 +0100", "25 03:00 +0100"]),
        ("0,12 0,12 31 12 *", "UTC", "9998-12-31T00:12", {}, ["31 12:00 +0000", "31 12:12 +0000"]),
        ("30 0,12 * * *", "Pacific/Apia", "2011-12-29T00:00", {}, ["29 00:30 -1000", "29 12:30 -1000", "31 00:00 +1400"]),
        ("30 0,12 * * *", "Pacific/Apia", "2011-12-29T00:00", {"on_gap": "skip"}, ["29 00:30 -1000", "29 12:30 -1000", "31 00:30 +1400"]),
    ],
)
def test_the_next_times_on_the_wall_clock(text, zone, after, policy, expected):
    ends = after.startswith("9998")
    assert wall(text, zone, after, len(expected) + ends, **policy) == expected
