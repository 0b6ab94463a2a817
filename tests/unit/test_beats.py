"""Whether the loops of a process move: what counts as time without a move, and what a process answers to a probe."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.model.beats import LIVE_S, MOST_STEP_S, Beat, LoopAge, counted, health, stuck, watched

STEPS = st.floats(0, 1_000)
ALLOWED = st.none() | st.floats(0, 300)


def seen(beats: Sequence[Beat], step: float) -> LoopAge:
    """What a watcher knows after it saw these *beats*, each *step* seconds after the one before."""
    found: LoopAge | None = None
    for beat in beats:
        found = watched(found, beat, step)
    assert found is not None
    return found


@given(st.lists(st.tuples(STEPS, ALLOWED), min_size=1, max_size=20))
def test_a_loop_that_moves_between_any_two_looks_is_never_stuck(looks: list[tuple[float, float | None]]) -> None:
    found: LoopAge | None = None
    for count, (step, allowed) in enumerate(looks):
        found = watched(found, Beat(count, allowed), step)
        assert not found.is_stuck


@given(st.integers(0, 300), st.floats(0.1, MOST_STEP_S), st.floats(0, 60))
def test_a_loop_that_does_not_move_is_stuck_when_its_allowance_is_over_and_not_before(looks: int, step: float, allowed: float) -> None:
    found = seen([Beat(7, allowed)] * (looks + 1), step)
    assert found.age == pytest.approx(looks * step)
    assert found.is_stuck == (found.age > allowed)


@given(st.lists(STEPS, min_size=1, max_size=20))
def test_a_loop_that_may_wait_without_a_limit_is_never_stuck_and_begins_anew_afterwards(steps: list[float]) -> None:
    found: LoopAge | None = None
    for step in steps:
        found = watched(found, Beat(1, None), step)
        assert not found.is_stuck
    limited = watched(found, Beat(1, 5.0), 1_000.0)
    assert (limited.age, limited.is_stuck) == (MOST_STEP_S, False)


@given(st.floats(0, 10_000_000), st.floats(MOST_STEP_S, 100))
def test_a_watcher_that_was_away_finds_no_loop_stuck_for_that(away: float, allowed: float) -> None:
    assert not watched(LoopAge(Beat(1, allowed)), Beat(1, allowed), away).is_stuck


@given(st.floats(-10, 10_000))
def test_at_most_one_step_of_the_time_between_two_looks_counts(step: float) -> None:
    assert 0 <= counted(step) <= min(max(step, 0), MOST_STEP_S)


def test_a_move_begins_anew() -> None:
    old = LoopAge(Beat(3, 5.0), 100.0)
    assert old.is_stuck
    assert watched(old, Beat(4, 5.0), 1.0) == LoopAge(Beat(4, 5.0), 0.0)


def test_the_names_of_stuck_loops_are_in_order() -> None:
    loops = {"b": LoopAge(Beat(1, 1.0), 2.0), "c": LoopAge(Beat(1, 1.0), 1.0), "a": LoopAge(Beat(1, 0.0), 0.1)}
    assert stuck(loops) == ["a", "b"]


@pytest.mark.parametrize(
    ("begun", "draining", "loops", "looked", "answer"),
    [
        (False, False, [], 0.0, (True, False, "starting")),
        (True, False, [], LIVE_S, (True, True, "ok")),
        (True, True, [], 0.0, (True, False, "draining")),
        (False, True, [], 0.0, (True, False, "draining")),
        (True, False, ["a", "b"], 0.0, (False, False, "stuck: a, b")),
        (True, True, ["a"], 0.0, (False, False, "stuck: a")),
        (True, False, [], LIVE_S + 0.1, (False, False, "stuck: watcher")),
    ],
)
def test_a_process_is_ready_while_it_takes_work_and_lives_while_its_loops_move(
    begun: bool, draining: bool, loops: list[str], looked: float, answer: tuple[bool, bool, str]
) -> None:
    assert health(begun=begun, draining=draining, stuck=loops, looked=looked) == answer


@given(st.booleans(), st.booleans(), st.lists(st.text(), max_size=2), st.floats(0, 100))
def test_a_process_that_is_ready_lives_and_does_not_drain(begun: bool, draining: bool, loops: list[str], looked: float) -> None:
    found = health(begun=begun, draining=draining, stuck=loops, looked=looked)
    if found.is_ready:
        assert found.is_live
        assert begun
        assert not draining
        assert not loops
