"""The times of the lease's rule, to the millisecond: when it is free, how long to wait otherwise, and how long a holder believes."""

import pytest

from sedano.model import leases, store_clock
from sedano.model.leases import FREE, GUARD_MS, LeaseDecision, LeaseRecord, Sight, Term, believes, decide, grant, remaining
from sedano.model.store_clock import DRIFT, Interval, Moment, StoreClock, froze, learned, least, most

NOW = 1_767_225_600_000
HELD = LeaseRecord("x", 7, "n", "host", 3, True, 30_000, NOW + 30_000)
KEPT = HELD._replace(held=False, want="b", expires=NOW + 1_500)
FROM = Moment(0.0, 0.0)
WATCHED_KEPT, WATCHED_HELD = 2_000 * (1 + DRIFT), 30_000 * (1 + DRIFT)


def test_the_figures_of_the_rule() -> None:
    assert (leases.GUARD_MS, leases.HAND_OVER_MS, leases.SHORTEST_MS, leases.LONGEST_MS) == (1_000, 2_000, 2_000, 86_400_000)
    assert (store_clock.DRIFT, store_clock.WIDEST_MS, store_clock.FREEZE_MS) == (0.001, 5_000, 1_000)


def later(elapsed: float) -> Moment:
    """The moment so many ms after `FROM`, by both clocks."""
    return Moment(elapsed, elapsed)


@pytest.mark.parametrize(
    ("elapsed", "lo", "wait"),
    [
        (0, NOW, 1_501.0), (1_000, NOW, 1_002.0), (WATCHED_KEPT - 0.5, NOW, 1.0), (WATCHED_KEPT - 1.5, NOW, 1.5), (WATCHED_KEPT, NOW, None),
        (WATCHED_KEPT + 0.5, NOW, None), (0, NOW + 1_499, 2.0), (0, NOW + 1_500, 1.0), (0, NOW + 1_501, None), (0, NOW - 9_000, 2_002.0),
    ],
)  # fmt: skip
def test_a_lease_that_is_kept_for_another_is_free_when_the_store_or_the_observer_knows_that_its_time_is_over(
    elapsed: float, lo: int, wait: float | None
) -> None:
    decision = decide(Sight(KEPT, FROM), Interval(lo, lo), later(elapsed), "me")
    assert decision.free == (wait is None)
    assert decision.wait == pytest.approx(wait or 0.0)


@pytest.mark.parametrize(
    ("elapsed", "clock", "wait"),
    [
        (0, Interval(NOW, NOW), 30_030.0), (10_000, Interval(NOW, NOW), 20_030.0), (0, Interval(NOW + 29_000, NOW + 29_000), 2_001.0),
        (0, Interval(NOW + 31_000, NOW + 31_000), 1.0), (0, Interval(NOW + 31_001, NOW + 31_001), None),
        (WATCHED_HELD - 0.5, Interval(NOW, NOW), 0.5), (WATCHED_HELD, Interval(NOW, NOW), None),
        (WATCHED_HELD + 0.5, Interval(NOW, NOW), None),
        (10_000, Interval(NOW + 60_000, NOW + 65_000), None), (10_000, Interval(NOW + 60_000, NOW + 65_001), 20_030.0),
    ],
)  # fmt: skip
def test_a_held_lease_is_read_again_when_the_store_or_the_observer_can_know_that_its_time_is_over(
    elapsed: float, clock: Interval, wait: float | None
) -> None:
    decision = decide(Sight(HELD, FROM), clock, later(elapsed), "me")
    assert decision.free == (wait is None)
    assert decision.wait == pytest.approx(wait or 0.0)


def test_who_asked_for_a_released_lease_need_not_wait() -> None:
    assert decide(Sight(KEPT, FROM), Interval(NOW, NOW), FROM, "b") == FREE
    assert decide(Sight(KEPT._replace(want=""), FROM), Interval(NOW, NOW), FROM, "me") == FREE
    assert decide(Sight(None, FROM), Interval(NOW, NOW), FROM, "me") == FREE == LeaseDecision(True, 0.0)


def test_what_a_grant_holds() -> None:
    early, late = Interval(0, 0), Interval(NOW, NOW + 5)
    assert grant("x", "me", "m", 2_000, None, early) == LeaseRecord("x", 1, "m", "me", 1, True, 2_000, 2_000, "", ())
    seen = KEPT._replace(waiting=("m1", "m2"))
    assert grant("x", "me", "m", 2_000, seen, early) == LeaseRecord("x", 8, "m", "me", 4, True, 2_000, 2_000, "", ("m1", "m2"))
    assert grant("x", "me", "m", 2_000, seen, late) == LeaseRecord("x", NOW + 5, "m", "me", 4, True, 2_000, NOW + 2_005, "", ("m1", "m2"))


def test_a_holder_believes_to_the_last_moment_before_the_guard_and_no_longer() -> None:
    held = Term("x", 7, "n", "host", 30_000, NOW + 30_000, FROM)
    last = 30_000 - GUARD_MS
    assert [remaining(held, later(elapsed)) for elapsed in (0, last - 0.5, last, last + 5)] == [last, 0.5, 0.0, 0.0]
    assert [believes(held, later(elapsed)) for elapsed in (0, last - 0.5, last, last + 5)] == [True, True, False, False]
    long = held._replace(duration=300_000)
    assert believes(long, Moment(101_050.0, 100_000.0)), "the drift of 100 s explains a tenth of a second beside the second"
    assert not believes(long, Moment(101_150.0, 100_000.0))


@pytest.mark.parametrize(("wall", "monotonic", "frozen"), [(1_001, 0, False), (1_002, 0, True), (0, 1_001, False), (0, 1_002, True)])
def test_clocks_that_are_a_second_apart_show_a_freeze(wall: float, monotonic: float, frozen: bool) -> None:
    assert froze(FROM, Moment(wall, monotonic)) == frozen
    assert froze(Moment(7_000.0, 9_000.0), Moment(7_000.0 + wall, 9_000.0 + monotonic)) == frozen


def test_the_interval_of_one_answer_widens_with_the_drift_of_either_clock() -> None:
    clock = learned(None, NOW, Moment(0, 0), Moment(40, 40))
    assert clock == StoreClock(NOW, Moment(40, 40), NOW + 1_000, Moment(0, 0))
    assert clock.at(Moment(40, 40)) == Interval(NOW, NOW + 1_041)
    assert clock.at(Moment(10_040, 20_040)) == Interval(NOW + 9_990, NOW + 1_000 + 20_061)


def test_of_two_answers_each_bound_is_the_better_one() -> None:
    first = learned(None, NOW, Moment(0, 0), Moment(10, 10))
    same = learned(first, NOW, Moment(900, 900), Moment(910, 910))
    assert same == StoreClock(NOW, Moment(10, 10), NOW + 1_000, Moment(900, 900)), "the second has not ended 900 ms later"
    turned = learned(first, NOW + 1_000, Moment(900, 900), Moment(910, 910))
    assert turned == StoreClock(NOW + 1_000, Moment(910, 910), NOW + 1_000, Moment(0, 0)), "it has ended, and not before a second was over"


def test_of_equal_bounds_the_newer_one_is_kept() -> None:
    clocks_set_back = Moment(5, 0)
    known = StoreClock(NOW, clocks_set_back, NOW + 1_000, clocks_set_back)
    assert learned(known, NOW, FROM, FROM) == StoreClock(NOW, FROM, NOW + 1_000, FROM)


@pytest.mark.parametrize(
    ("floor", "date", "kept"),
    [
        (NOW + 1_000, NOW, StoreClock(NOW + 1_000, FROM, NOW + 1_000, FROM)), (NOW + 1_001, NOW, StoreClock(NOW, FROM, NOW + 1_000, FROM)),
        (NOW, NOW + 1_000, StoreClock(NOW + 1_000, FROM, NOW + 1_000, FROM)),
        (NOW - 1, NOW + 1_000, StoreClock(NOW + 1_000, FROM, NOW + 2_000, FROM)),
    ],
)  # fmt: skip
def test_an_answer_replaces_what_was_known_where_both_cannot_be_true(floor: int, date: int, kept: StoreClock) -> None:
    assert learned(StoreClock(floor, FROM, floor + 1_000, FROM), date, FROM, FROM) == kept


def test_elapsed_time_is_the_difference_of_two_moments_and_never_negative() -> None:
    since, now = Moment(10.0, 20.0), Moment(15.0, 26.0)
    assert (most(since, now), least(since, now)) == (6.0, 5.0)
    assert (most(since, Moment(5.0, 17.0)), least(since, Moment(5.0, 17.0))) == (0.0, 0.0)
    assert not froze(FROM, Moment(1_000_000.0, 998_000.0)), "a second, and the drift of a thousand"
