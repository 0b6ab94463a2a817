"""When a process that works is replaced."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.model.restarts import SPREAD, STEADY_S, backoff, in_a_row, spread


def test_a_process_that_dies_in_a_row_is_started_later_each_time_and_at_last_every_five_seconds() -> None:
    assert [backoff(deaths) for deaths in range(9)] == [0, 0, 0.5, 1, 2, 4, 5, 5, 5]


@pytest.mark.parametrize(("deaths", "lived", "counted"), [(0, 0.1, 1), (3, STEADY_S - 0.1, 4), (3, STEADY_S, 1), (0, 900.0, 1)])
def test_a_process_that_lived_for_a_while_has_not_died_in_a_row(deaths: int, lived: float, counted: int) -> None:
    assert in_a_row(deaths, lived) == counted


@given(st.integers(1, 1_000_000), st.floats(0, 1))
def test_processes_end_after_about_so_many_tasks_and_after_one_at_least(most: int, unit: float) -> None:
    assert max(1, round(most * (1 - SPREAD))) <= spread(most, unit) <= max(1, round(most * (1 + SPREAD)))


def test_processes_do_not_all_end_at_once() -> None:
    assert [spread(1_000, unit) for unit in (0.0, 0.5, 1.0)] == [900, 1_000, 1_100]
    assert [spread(1, 0.0), spread(0, 0.5)] == [1, 1], "one task at least"
