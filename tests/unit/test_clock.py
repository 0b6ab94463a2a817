"""The hybrid Lamport clock: causes come before effects, the clock stays near physical time, and nobody can drag it away."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kombu.clocks import LamportClock as KombuClock

from sedano.model.messages.lamport import MAX_AHEAD_US, ClockAhead, LamportClock, adjust, forward

NOW = 1_795_172_400_000_000
moments = st.integers(NOW - 10**9, NOW + 10**9)


class Wall:
    """A wall clock that a test moves."""

    def __init__(self, micros=NOW):
        self.micros = micros

    def __call__(self):
        return self.micros


@given(moments, moments)
def test_a_local_event_comes_later_than_all_before_it_and_never_behind_physical_time(clock, now):
    after = forward(clock, now)
    assert after > clock
    assert after >= now


@given(moments, moments, moments)
def test_a_received_message_comes_before_what_its_receiver_does_next(clock, other, now):
    if other > now + MAX_AHEAD_US:
        with pytest.raises(ClockAhead, match="s ahead of this machine"):
            adjust(clock, other, now)
    else:
        assert adjust(clock, other, now) > max(clock, other, now)


def test_a_remote_clock_may_be_five_minutes_ahead_and_no_more():
    assert adjust(0, NOW + MAX_AHEAD_US, NOW) == NOW + MAX_AHEAD_US + 1
    with pytest.raises(ClockAhead, match="300 s ahead"):
        adjust(0, NOW + MAX_AHEAD_US + 1, NOW)


def test_a_poisoned_message_leaves_the_clock_as_it_was():
    clock = LamportClock(Wall(), 7)
    with pytest.raises(ClockAhead):
        clock.adjust(NOW * 2)
    assert clock.value == 7
    assert clock.forward() == NOW


@st.composite
def histories(draw):
    """Draw what processes do: a local event of one of them, with its wall clock, or a message from one to another."""
    most = MAX_AHEAD_US // 2 - 100  # two walls stay less than the limit apart, ticks included
    step = st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(-most, most))
    return draw(st.lists(step, max_size=40))


@given(histories())
def test_whatever_caused_an_event_has_a_smaller_clock(history):
    """C1, with wall clocks that disagree and run backwards; each event is compared with everything that happened before it."""
    walls = [Wall(), Wall(), Wall()]
    clocks = [LamportClock(wall) for wall in walls]
    before: list[set[int]] = [set(), set(), set()]
    for sender, receiver, skew in history:
        walls[sender].micros = NOW + skew
        sent = clocks[sender].forward()
        assert all(earlier < sent for earlier in before[sender])
        before[sender].add(sent)
        if sender != receiver:
            received = clocks[receiver].adjust(sent)
            before[receiver] |= before[sender]
            assert all(earlier < received for earlier in before[receiver])
            before[receiver].add(received)


@given(histories())
def test_a_clock_runs_ahead_of_the_latest_wall_by_at_most_a_tick_an_event(history):
    """C2."""
    walls = [Wall(), Wall(), Wall()]
    clocks = [LamportClock(wall) for wall in walls]
    latest = events = 0
    for sender, receiver, skew in history:
        walls[sender].micros = NOW + skew
        latest, events = max(latest, *(wall.micros for wall in walls)), events + 2
        clocks[receiver].adjust(clocks[sender].forward())
        assert max(clock.value for clock in clocks) <= latest + events


def test_a_cold_start_is_right_at_once():
    assert LamportClock(Wall()).forward() == NOW


def test_threads_never_get_the_same_tick():
    clock = LamportClock(Wall())
    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(lambda _: [clock.forward() for _ in range(500)], range(4)))
    assert len({tick for run in runs for tick in run}) == 2000
    assert all(a < b for run in runs for a, b in pairwise(run))


@given(st.lists(st.none() | st.integers(0, 1000), max_size=20))
def test_without_physical_time_it_is_the_clock_of_kombu(steps):
    ours, theirs = LamportClock(Wall(0)), KombuClock()
    for step in steps:
        if step is None:
            assert ours.forward() == theirs.forward()
        else:
            assert ours.adjust(step) == theirs.adjust(step)
        assert ours.value == theirs.value


def test_the_clock_is_exact_in_json_readers_that_know_doubles_only_until_2255():
    year_2255 = 285 * 31_556_952 * 1_000_000
    assert float(year_2255) == year_2255 < 2**53
