"""How long a message waits, and what it remembers: bounded, growing, and total over hostile attributes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.model.deferrals import FIRST_S, HIDDEN_MOST_S, LONGEST_S, SHORT_S, WAITED, Waited, hidden, patience, waited, written
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


@pytest.mark.parametrize(("given", "text"), [((3, 7), "3 7"), ((1_000_000, 999_999), "999999 999999"), ((0, 1_000_000), "0 999999")])
def test_what_is_remembered_is_two_numbers_of_six_digits(given: tuple[int, int], text: str) -> None:
    assert written(Waited(*given)) == text
    assert waited({WAITED: text}) == Waited(*map(int, text.split()))


def test_a_message_without_the_attribute_has_not_waited() -> None:
    assert waited({"other": "1 2"}) == Waited(0, 0)


def test_each_wait_is_twice_as_long_as_the_one_before() -> None:
    assert [patience(times) for times in range(10)] == [5, 10, 20, 40, 80, 160, 320, 640, 900, 900]
    assert [patience(times, 1.0, 1e9) for times in (0, 19, 20, 21, 10**9)] == [1.0, 2.0**19, 2.0**20, 2.0**20, 2.0**20]
    assert SHORT_S == 30.0


@pytest.mark.parametrize(
    ("receives", "age", "seconds"),
    [(1, 1e6, 60), (2, 1e6, 60), (3, 0, 60), (3, 12, 60), (3, 12.5, 62.5), (3, 8_640, 43_200), (3, 8_641, 43_200), (3, -9.0, 60)],
)
def test_what_cannot_be_sent_again_is_hidden_for_five_times_its_age(receives: int, age: float, seconds: float) -> None:
    assert hidden(receives, age) == seconds
