"""How long a message waits, and what it remembers: bounded, growing, and total over hostile attributes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.model.deferrals import FIRST_S, HIDDEN_MOST_S, LONGEST_S, WAITED, Waited, hidden, patience, waited, written
from sedano.model.retry import MAX_EXECUTIONS

DAY_S = 86_400.0


@given(st.integers(0, 999_999), st.integers(0, 999_999))
def test_what_a_message_remembers_is_read_as_it_was_written(times: int, runs: int) -> None:
    assert waited({WAITED: written(Waited(times, runs))}) == Waited(times, runs)


@given(st.text(max_size=30))
def test_any_other_text_is_no_memory(text: str) -> None:
    found = waited({WAITED: text})
    assert found == Waited() or written(found) == " ".join(str(int(part)) for part in text.split(" "))


@pytest.mark.parametrize("text", ["-1 0", "1", "1 2 3", "², 1", "1 ²", "1e3 1", "", " 1 1", "1234567 1"])
def test_forged_memories_count_as_none(text: str) -> None:
    assert waited({WAITED: text}) == Waited()


def test_waits_grow_to_the_longest_delay_of_a_queue_and_no_further() -> None:
    waits = [patience(times) for times in range(60)]
    assert waits == sorted(waits)
    assert (waits[0], waits[-1], patience(10**9)) == (FIRST_S, LONGEST_S, LONGEST_S)


def test_where_nothing_can_be_sent_anew_no_receipt_limit_is_reached_within_half_a_day() -> None:
    ages = [0.0]
    for receives in range(1, MAX_EXECUTIONS):
        ages.append(ages[-1] + hidden(receives, ages[-1]))
    assert ages[5] > DAY_S / 4
    assert ages[6] > DAY_S / 2
    assert ages[-1] > 7 * DAY_S
    assert hidden(10**9, 1e12) == HIDDEN_MOST_S


def test_a_clock_that_is_behind_hides_nothing_for_less_than_a_minute() -> None:
    assert hidden(9, -600.0) == hidden(1, 0.0) > 0
