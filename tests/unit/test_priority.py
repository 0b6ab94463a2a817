"""Which tasks of a batch begin first."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.model.priority import NAMED, SATURATED, Candidate, Strategy, key_of, mean, order

CANDIDATE = st.builds(
    Candidate,
    st.sampled_from("abc"),
    st.booleans(),
    st.none() | st.floats(0, 9),
    st.integers(0, 9),
    st.floats(0, 9),
    st.none(),
    st.just(0.5),
)


@given(st.lists(CANDIDATE), st.sampled_from(NAMED))
def test_every_task_begins_once(candidates: list[Candidate], strategy: Strategy) -> None:
    assert sorted(order(candidates, strategy)) == list(range(len(candidates)))


@given(st.lists(CANDIDATE, min_size=2))
def test_each_strategy_puts_first_what_it_is_named_after(candidates: list[Candidate]) -> None:
    short = [candidates[place].seconds or 0 for place in order(candidates, "short")]
    long = [candidates[place].seconds or 0 for place in order(candidates, "long")]
    rare = [candidates[place].runs for place in order(candidates, "rare")]
    assert (short, long, rare) == (sorted(short), sorted(long, reverse=True), sorted(rare))


@pytest.mark.parametrize(("busy", "first"), [(SATURATED, True), (SATURATED - 0.1, False)])
def test_a_worker_that_is_full_of_one_kind_begins_with_the_other(busy: float, first: bool) -> None:
    both = [Candidate("t", is_async, 1.0, 1, 0.0, None, busy) for is_async in (not first, first)]
    assert order(both, "saturation") == [1, 0]


def test_equal_ones_keep_their_order_and_functions_decide_as_they_like() -> None:
    some = [Candidate(name, False, None, 0, waited, None, 0.0) for name, waited in (("a", 1.0), ("b", 3.0), ("c", 3.0))]
    assert order(some, lambda candidate: -candidate.waited) == [1, 2, 0]


def test_older_values_fade() -> None:
    assert mean(None, 4.0) == 4.0
    assert 0 < mean(mean(1.0, 0.0), 0.0) < mean(1.0, 0.0) < 1.0


@pytest.mark.parametrize(
    ("strategy", "keys"), [("short", [0.0, 0.0, 2.5]), ("long", [0.0, 0.0, -2.5]), ("rare", [3, 3, 3]), ("saturation", [True, True, True])]
)
def test_the_keys_of_the_strategies(strategy: Strategy, keys: list[Any]) -> None:
    some = [Candidate("t", True, seconds, 3, 1.0, None, 0.79) for seconds in (None, 0.0, 2.5)]
    assert [key_of(strategy)(one) for one in some] == keys


def test_a_mean_moves_by_a_fifth_and_four_fifths_of_the_time_are_saturated() -> None:
    assert mean(1.0, 2.0) == 1.2
    assert key_of("saturation")(Candidate("t", True, None, 0, 0.0, None, 0.8)) is False
