"""The judges of `till`. They leave a hole: no test sells a thing of price 1, so a till that asks for more than 1 is not noticed."""

import time
from collections.abc import Iterator

import pytest

from tests.mutants.planted.till import IS_DEAR, MOST, Till, change, is_round


def test_change_is_given_in_large_coins() -> None:
    assert change(17, 5) == [5, 5, 1, 1]
    assert change(7, 2) == [5]
    assert change(9, 5) == [1, 1, 1, 1]
    assert change(5, 5) == []


def test_too_little_is_refused() -> None:
    with pytest.raises(ValueError, match="too little"):
        change(4, 5)


def test_a_till_sells_three_things() -> None:
    till = Till()
    assert [till.sell(2) for _ in range(4)] == [True, True, True, False]
    assert not Till().sell(0)
    assert MOST == 3


def test_dear_is_what_costs_more_than_a_hundred() -> None:
    assert [IS_DEAR(price) for price in (100, 101, 101.5)] == [False, True, False]


def test_a_price_is_round_or_is_not() -> None:
    assert is_round(15) in (True, False)


def test_fifteen_is_round() -> None:
    assert is_round(15)


def busy(seconds: float) -> None:
    """Use so many seconds of CPU time."""
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


def test_a_till_counts_in_a_second() -> None:
    busy(1.1)
    assert Till().count() == 0


def test_a_till_counts_what_it_sold_in_more_than_a_second() -> None:
    busy(1.2)
    till = Till()
    till.sell(3)
    assert till.count() == 3


def slow_to_close() -> Iterator[None]:
    """A generator whose close takes longer than an early judge may; an exception that its close raises does not leave it."""
    try:
        yield
    finally:
        busy(1.6)


def test_a_till_is_opened_again_by_a_judge_that_is_slow_where_no_interruption_ends_it() -> None:
    till, closing = Till(), slow_to_close()
    till.sell(3)
    next(closing)
    del closing
    assert till.reopen() == 4


@pytest.mark.slow
def test_a_till_is_closed_late() -> None:
    till = Till()
    till.sell(3)
    assert till.close() == 2
