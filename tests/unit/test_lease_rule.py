"""The rule of the lease, in any constellation of clocks: safety needs no right clock, and time only decides when."""


import hypothesis.strategies as st
import pytest
from hypothesis import assume, given

from sedano.model import leases as lease
from sedano.model.leases import GUARD_MS, HAND_OVER_MS, LeaseRecord, Sight, Term
from sedano.model.store_clock import DRIFT, WIDEST_MS, Interval, Moment, StoreClock, froze, learned, least, most

NOW = 1_767_225_600_000
HELD = LeaseRecord("x", 7, "n", "host", 3, True, 30_000, NOW + 30_000)
FREE = HELD._replace(held=False, expires=0)

_ms = st.integers(0, 10**8)
_durations = st.integers(2_000, 10**6)
_moments = st.builds(Moment, st.integers(-(10**9), 10**9).map(float), _ms.map(float))
_records = st.builds(
    LeaseRecord, st.just("x"), st.integers(1, 2 * NOW), st.just("n"), st.just("host"), st.integers(1, 99), st.booleans(), _durations,
    st.integers(NOW - 10**6, NOW + 10**6), st.sampled_from(["", "b", "c"]), st.lists(st.text(max_size=3), max_size=2).map(tuple),
)  # fmt: skip
_widths = st.integers(0, 20_000)


def at(lo: int, width: int = 0) -> Interval:
    """The store's clock."""
    return Interval(lo, lo + width)


@given(seen=st.none() | _records, lo=st.integers(NOW - 10**6, NOW + 10**6), width=_widths, duration=_durations)
def test_a_grant_raises_token_and_version_and_ends_after_any_time_that_the_holder_may_believe(
    seen: LeaseRecord | None, lo: int, width: int, duration: int
) -> None:
    granted = lease.grant("x", "host", "mine", duration, seen, at(lo, width))
    assert granted.token > (seen.token if seen else 0)
    assert granted.version == (seen.version if seen else 0) + 1
    assert granted.token >= lo
    assert granted.expires >= lo + width + duration
    assert granted.held


@given(seen=_records, lo=st.integers(NOW, NOW + 10**6))
def test_after_a_deletion_by_the_ttl_the_token_still_rises(seen: LeaseRecord, lo: int) -> None:
    assume(seen.token < lo)
    assert lease.grant("x", "host", "mine", 2_000, None, at(lo)).token > seen.token


@given(record=_records, lo=st.integers(NOW - 10**6, NOW + 10**7), width=_widths, since=_moments, now=_moments)
def test_a_held_lease_is_taken_only_when_its_time_is_over_by_the_store_or_it_was_watched_for_all_of_it(
    record: LeaseRecord, lo: int, width: int, since: Moment, now: Moment
) -> None:
    record = record._replace(held=True)
    decision = lease.decide(Sight(record, since), at(lo, width), now, "me")
    by_clock = width <= WIDEST_MS and lo > record.expires + GUARD_MS
    by_watching = least(since, now) >= record.duration * (1 + DRIFT)
    assert decision.free == (by_clock or by_watching)
    assert decision.free or decision.wait > 0


def test_the_stores_machines_may_differ_by_the_guard() -> None:
    now = Moment(0, 0)
    assert not lease.decide(Sight(HELD, now), at(HELD.expires + GUARD_MS), now, "me").free
    assert lease.decide(Sight(HELD, now), at(HELD.expires + GUARD_MS + 1), now, "me").free
    assert not lease.decide(Sight(HELD, now), at(HELD.expires + GUARD_MS + 1 - WIDEST_MS, WIDEST_MS), now, "me").free
    assert not lease.decide(Sight(HELD, now), at(HELD.expires + GUARD_MS + 1, WIDEST_MS + 1), now, "me").free


@given(elapsed=st.integers(0, 200_000), duration=_durations, sent=_moments)
def test_belief_ends_before_another_may_begin(elapsed: int, duration: int, sent: Moment) -> None:
    """Whatever the true time of the grant's writing was: between sending and now."""
    now = Moment(sent.wall + elapsed, sent.monotonic + elapsed)
    term = Term("x", 1, "n", "host", duration, NOW + duration, sent)
    taken = lease.decide(Sight(HELD._replace(duration=duration, expires=NOW + duration), sent), at(NOW + elapsed), now, "me").free
    assert not (taken and lease.believes(term, now))


@given(sent=_moments, wall=st.integers(-(10**6), 10**6), monotonic=_ms, duration=_durations)
def test_belief_is_measured_by_the_clock_that_ran_more(sent: Moment, wall: int, monotonic: int, duration: int) -> None:
    now = Moment(sent.wall + wall, sent.monotonic + monotonic)
    term = Term("x", 1, "n", "host", duration, NOW, sent)
    assert lease.remaining(term, now) <= max(0, duration - GUARD_MS - monotonic)
    assert lease.remaining(term, now) <= max(0, duration - GUARD_MS - wall)
    assert not lease.believes(term, now) or abs(wall - monotonic) <= 2_000


@given(record=_records, lo=st.integers(NOW - 10**6, NOW + 10**6), now=_moments)
def test_a_released_lease_is_kept_for_who_asked_and_for_nobody_for_ever(record: LeaseRecord, lo: int, now: Moment) -> None:
    record = record._replace(held=False)
    sight = Sight(record, now)
    assert lease.decide(sight, at(lo), now, record.want or "me").free
    later = Moment(now.wall + 2 * HAND_OVER_MS, now.monotonic + 2 * HAND_OVER_MS)
    assert lease.decide(sight, at(lo), later, "stranger").free
    kept = bool(record.want) and lo <= record.expires
    assert lease.decide(sight, at(lo), now, "stranger").free == (not kept)


@given(held=st.integers(NOW, NOW + 10**6), lo=st.integers(NOW - 10**6, NOW + 10**6), width=_widths)
def test_a_renewal_never_asks_for_less_than_what_is_written(held: int, lo: int, width: int) -> None:
    term = Term("x", 1, "n", "host", 30_000, held, Moment(0, 0))
    assert lease.renewed_until(term, at(lo, width)) >= max(held, lo + width + 30_000)


def test_a_lease_is_seen_since_it_changed_last() -> None:
    first, second = Moment(0, 0), Moment(5, 5)
    seen = lease.look(None, HELD, first)
    assert lease.look(seen, HELD._replace(want="b"), second).since == first
    assert lease.look(seen, HELD._replace(version=4), second).since == second
    assert lease.look(seen, HELD._replace(token=8), second).since == second
    assert lease.look(seen, None, second).since == second


def test_only_nonce_and_token_together_are_a_mark() -> None:
    assert lease.is_mine(HELD, "n", 7)
    assert not lease.is_mine(HELD, "n", 8)
    assert not lease.is_mine(HELD, "m", 7)
    assert not lease.is_mine(None, "n", 7)


_steps = st.lists(st.tuples(st.integers(0, 60_000), st.integers(0, 9_000), st.integers(0, 9_000), st.integers(0, 3_600_000)), max_size=8)


@given(
    start=st.integers(NOW, NOW + 10**6), offset=st.integers(-(10**9), 10**9), steps=_steps, drift=st.floats(-0.0009, 0.0009),
    sets=st.sampled_from([0, 1, -1]),
)  # fmt: skip
def test_the_stores_time_is_always_inside_the_interval_whatever_the_own_clocks_do(
    start: int, offset: int, steps: list[tuple[int, int, int, int]], drift: float, sets: int
) -> None:
    """Each step: time passes, a request travels, an answer travels, and one clock goes wrong.

    The monotonic one rests in a freeze, or the wall clock is set forward or back; the other one is right.
    """
    true, frozen = float(start), 0.0

    def own() -> Moment:
        passed = (true - start) * (1 + drift)
        return Moment(start + offset + passed, passed - frozen)

    clock: StoreClock | None = None
    for passes, there, back, freeze in steps:
        true += passes
        sent = own()
        true += there
        date = int(true) // 1000 * 1000
        true += back
        clock = learned(clock, date, sent, own())
        assert clock.at(own()).lo <= true <= clock.at(own()).hi
        if sets:
            offset += sets * freeze
        else:
            true += freeze
            frozen += freeze
        assert clock.at(own()).lo <= true <= clock.at(own()).hi


@given(sent=_moments, width=st.integers(0, 3_000))
def test_an_answer_tells_the_time_to_a_second_and_its_travel(sent: Moment, width: int) -> None:
    received = Moment(sent.wall + width, sent.monotonic + width)
    shown = learned(None, NOW, sent, received).at(received)
    assert shown.lo == NOW
    assert NOW + 1_000 + width <= shown.hi <= NOW + 1_001 + width * (1 + DRIFT) + 1


def test_an_answer_that_contradicts_what_was_known_replaces_it() -> None:
    known = learned(None, NOW, Moment(0, 0), Moment(10, 10))
    later = learned(known, NOW + 3_600_000, Moment(20, 20), Moment(30, 30))
    assert later.at(Moment(30, 30)).lo == NOW + 3_600_000


def test_more_answers_never_make_the_interval_wider() -> None:
    clock = learned(None, NOW, Moment(0, 0), Moment(900, 900))
    better = learned(clock, NOW + 1_000, Moment(1_000, 1_000), Moment(1_010, 1_010))
    now = Moment(1_010, 1_010)
    assert better.at(now).hi - better.at(now).lo <= clock.at(now).hi - clock.at(now).lo


def test_a_freeze_and_a_step_are_noticed_and_the_passing_of_time_is_not() -> None:
    begin = Moment(0, 0)
    assert froze(begin, Moment(5_000, 0))
    assert froze(begin, Moment(0, 5_000))
    assert not froze(begin, Moment(900_500, 900_000))
    assert (most(begin, Moment(5, 3)), least(begin, Moment(5, 3)), least(begin, Moment(-5, 3))) == (5, 3, 0)


@pytest.mark.parametrize(
    ("shown", "narrow", "wide"),
    [
        (99.0, 100.0, 100.0), (100.5, 100.5, 100.5), (101.0, 101.0, 101.0), (101.05, 100.0, 101.05), (110.0, 100.0, 110.0),
        (700.0, 100.0, 160.0),
    ],
)  # fmt: skip
def test_a_time_that_cannot_be_right_is_corrected_to_what_was_surely_reached_or_after_a_freeze_not_passed(
    shown: float, narrow: float, wide: float
) -> None:
    assert Interval(100_000, 101_000).corrected(shown) == narrow
    assert Interval(100_000, 160_000).corrected(shown) == wide
