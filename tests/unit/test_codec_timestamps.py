"""Moments survive the wire to the microsecond, and every way to write one in RFC 3339 is understood."""

import math
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.model.messages.timestamps import LAST_SECOND, read, write
from tests.unit.generated import LATEST_EXACT


@given(st.integers(0, LATEST_EXACT * 1_000_000))
def test_a_whole_number_of_microseconds_survives(micros):
    assert read(write(micros / 1_000_000)) == micros / 1_000_000


@given(st.floats(0, LATEST_EXACT))
def test_any_moment_is_written_to_the_nearest_microsecond(moment):
    assert abs(read(write(moment)) - moment) <= 0.000_001
    assert len(write(moment)) == 27


@given(st.floats(0, LAST_SECOND, exclude_max=True))
def test_what_is_written_can_be_read_until_the_year_9999(moment):
    assert write(read(write(moment))) == write(moment)


@given(
    st.datetimes(datetime.fromisoformat("1971-01-01"), datetime.fromisoformat("9998-01-01")),
    st.integers(-1439, 1439),
    st.sampled_from(["auto", "seconds", "milliseconds", "microseconds"]),
)
def test_every_offset_and_precision_is_understood(moment, minutes, precision):
    there = moment.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    if precision != "auto":
        there = datetime.fromisoformat(there.isoformat(timespec=precision))
    exact = (there - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    assert read(there.isoformat(timespec=precision)) == exact / 1_000_000


def test_digits_beyond_the_microsecond_are_dropped():
    assert read("2026-11-20T11:00:00.123456999Z") == read("2026-11-20T11:00:00.123456Z") == 1_795_172_400.123456


def test_the_last_microsecond_of_a_second_does_not_spill():
    assert write(1_795_172_399.999_999_9) == "2026-11-20T11:00:00.000000Z"
    assert write(1_795_172_399.999_999) == "2026-11-20T10:59:59.999999Z"


@pytest.mark.parametrize("moment", [-0.1, -1e300, 253_402_300_799.0, 1e300, math.inf, -math.inf, math.nan])
def test_a_moment_without_a_year_of_four_digits_cannot_be_written(moment):
    with pytest.raises(ValueError, match="1970 and 9999"):
        write(moment)


@pytest.mark.parametrize(
    "text",
    [
        "1969-12-31T23:59:59.999999Z",
        "1970-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59Z",
        "0000-01-01T00:00:00Z",
        "2026-02-29T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-01-01T25:00:00Z",
        "2026-01-01T00:00:00+24:00",
        "2026-01-01T00:00:60Z",
        "2026-W01-1T00:00:00Z",
        "2026-001T00:00:00Z",
        "2026-01-01",
        "now",
        "",
        "Z" * 27,
    ],
)
def test_what_is_no_such_moment_is_refused(text):
    with pytest.raises(ValueError, match=r"."):
        read(text)
