"""A line of tickets says what GCRA says, for every mix of paces and arrivals, and never lets more start than was declared."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.errors import OptionError
from sedano.model.limits import rate as rates
from sedano.model.limits.rate import Line, Pace, Paces

NAN, INF = float("nan"), float("inf")
PACE = st.builds(Pace, st.integers(1, 40), st.integers(1, 12))
PACES = st.lists(PACE, min_size=1, max_size=3).map(tuple)
ARRIVALS = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 6)), min_size=1, max_size=40)
"""How long after the one before, and how many at once."""


def take(line: Line | None, limits: Paces, count: int, now: int) -> tuple[Line, list[int]]:
    """Take tickets as the store does it, by whichever of the three moves fits."""
    if line is None or rates.idle(line, limits, now):
        new = rates.started(limits, count, now, "n")
        return new, rates.slots(new, limits, 0, count)
    if rates.ahead(line, limits, now):
        new = rates.joined(line, limits, count)
        return new, rates.slots(new, limits, line.taken, count)
    new = rates.restarted(line, limits, count, now, "n")
    return new, rates.slots(new, limits, 0, count)


def gcra(limits: Paces, turns: list[int], now: int) -> int:
    """The textbook: the earliest start at or after *now* that all paces allow, and their turns after it."""
    start = max(now, *(turn - pace.tolerance for turn, pace in zip(turns, limits, strict=True)))
    turns[:] = [max(turn, start) + pace.every for turn, pace in zip(turns, limits, strict=True)]
    return start


@given(PACES, ARRIVALS)
def test_the_slots_are_those_of_gcra(limits: Paces, arrivals: list[tuple[int, int]]) -> None:
    line, turns, now = None, [0] * len(limits), 1_000
    for after, count in arrivals:
        now += after
        line, got = take(line, limits, count, now)
        assert got == [gcra(limits, turns, now) for _ in range(count)]


@given(PACES, ARRIVALS, st.integers(0, 3_000))
def test_the_reserved_slots_of_a_line_are_those_after_now(limits: Paces, arrivals: list[tuple[int, int]], now: int) -> None:
    line, at = None, 1_000
    for after, count in arrivals:
        at += after
        line, _ = take(line, limits, count, at)
        every = rates.slots(line, limits, 0, line.taken)
        assert rates.reserved(line, limits, now) == sum(slot > now for slot in every)


def test_a_rate_has_words_and_its_line_a_name_for_each_rule_and_key() -> None:
    limits = rates.paces(["10/s", "100/m"], (1, 50))
    assert rates.in_words(limits) == "1 in 0.1 s and 1 in 0.6 s, up to 50 at once"
    assert rates.line_name("shop.add", limits, "ana") == f"shop.add/{rates.rule_text(limits)}/ana"
    assert rates.line_name("shop.add", limits) == f"shop.add/{rates.rule_text(limits)}/"


@given(PACES, ARRIVALS)
def test_no_stretch_holds_more_starts_than_declared(limits: Paces, arrivals: list[tuple[int, int]]) -> None:
    line, now, starts = None, 1_000, []
    for after, count in arrivals:
        now += after
        line, got = take(line, limits, count, now)
        starts += got
    assert starts == sorted(starts)
    for pace in limits:
        for first, start in enumerate(starts):
            for more, end in enumerate(starts[first:], 1):
                assert more <= (end - start) // pace.every + pace.burst


@given(PACE, st.integers(1, 50))
def test_a_backlog_uses_the_whole_rate(pace: Pace, count: int) -> None:
    _, got = take(None, (pace,), count + pace.burst, 0)
    assert got[: pace.burst] == [0] * pace.burst
    assert all(later - one == pace.every for one, later in pairwise(got[pace.burst - 1 :]))


@pytest.mark.parametrize(
    ("rate", "burst", "expected"),
    [
        ("200/m", 1, (Pace(300_000),)),
        ("10/s", 3, (Pace(100_000, 3),)),
        (2, 1, (Pace(500_000),)),
        (0.5, 1, (Pace(2_000_000),)),
        ("1.5/h", 1, (Pace(2_400_000_000),)),
        ("7/s", 1, (Pace(142_858),)),
        (("10/s", "200/m"), (1, 50), (Pace(100_000), Pace(300_000, 50))),
    ],
)
def test_rates_are_read(rate: rates.RateText, burst: int, expected: Paces) -> None:
    assert rates.paces(rate, burst) == expected


@pytest.mark.parametrize("rate", ["", "10", "10/x", "-1/s", "10/s ", "ten/s", None, True, b"1/s", -1, NAN, INF, -INF, "1e3/s"])
def test_what_is_no_rate_is_refused_with_examples(rate: object) -> None:
    with pytest.raises(OptionError, match=r"^rate: .* is not a valid rate; write '200/m'"):
        rates.paces([rate])  # type: ignore[list-item]


@pytest.mark.parametrize("rate", ["0/s", 0, 0.0, -0.0, "0.0/m"])
def test_a_rate_that_lets_nothing_start_says_how_to_stop_a_task(rate: rates.RateText) -> None:
    with pytest.raises(OptionError, match=r"concurrency=0"):
        rates.paces(rate)


def test_a_window_that_never_counts_is_refused() -> None:
    with pytest.raises(OptionError, match=r"'10/s' has no effect .* burst=\(1, 50\)"):
        rates.paces(("10/s", "200/m"))


@pytest.mark.parametrize("burst", [0, -1, 1.5, True, "3", 10_000_000])
def test_a_burst_is_a_number_of_starts(burst: object) -> None:
    with pytest.raises(OptionError, match="burst: "):
        rates.paces(("1/s",), (burst,))  # type: ignore[arg-type]


def test_windows_and_bursts_have_to_match() -> None:
    with pytest.raises(OptionError, match="2 numbers for 1 windows"):
        rates.paces("1/s", (1, 2))
    with pytest.raises(OptionError, match="4 windows; give 1 to 3"):
        rates.paces(("1/s",) * 4)
    with pytest.raises(OptionError, match="more than one start per microsecond"):
        rates.paces("2000000/s")


def test_the_highest_rate_the_highest_burst_and_the_most_windows_are_accepted() -> None:
    assert rates.paces("1000000/s", 1_000_000) == (Pace(1, 1_000_000),)
    assert rates.paces(("9/s", "90/m", "900/h"), (1, 20, 300)) == (Pace(111_112), Pace(666_667, 20), Pace(4_000_000, 300))
    for burst in (0, 1_000_001):
        with pytest.raises(OptionError, match=f"^burst: {burst} is not a whole number from 1 to 1000000; write how many tasks"):
            rates.paces("1/s", burst)
    with pytest.raises(OptionError, match=r"^rate: 0 windows; give 1 to 3$"):
        rates.paces((), ())


@pytest.mark.parametrize(
    ("bursts", "useless"), [((1, 2), "'2/s'"), ((2, 1), "'2/s'"), ((1, 1), None)], ids=["the second", "the first", "both alike"]
)
def test_of_two_windows_with_one_interval_the_smaller_burst_counts(bursts: tuple[int, int], useless: str | None) -> None:
    if useless is None:
        assert rates.paces(("2/s", "2/s"), bursts) == (Pace(500_000), Pace(500_000))
        return
    with pytest.raises(OptionError, match=f"^rate: {useless} has no effect beside the others"):
        rates.paces(("2/s", "2/s"), bursts)


def test_a_line_that_begins_again_keeps_the_used_part_of_its_bursts() -> None:
    limits = (Pace(10, 2), Pace(30, 4))
    line = rates.started(limits, 3, 1_000, "a")
    assert line == Line(1_000, 3, (1_030, 1_090), "a")
    assert rates.restarted(line, limits, 2, 1_050, "b") == Line(1_050, 2, (1_070, 1_150), "b")
