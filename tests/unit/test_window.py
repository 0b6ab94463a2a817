"""The idempotent receiver remembers exactly the messages that it finished last."""

from hypothesis import given
from hypothesis import strategies as st

from sedano.model.ledger.recent_ids import Window


@given(st.integers(0, 5), st.lists(st.sampled_from("abcdefgh"), max_size=40))
def test_the_window_holds_the_most_recent_ids_and_no_others(size, finished):
    window = Window(size)
    for message_id in finished:
        window.add(message_id)
    recent = list(dict.fromkeys(reversed(finished)))[:size]
    assert {message_id for message_id in "abcdefgh" if message_id in window} == set(recent)


def test_a_hundred_messages_are_remembered_unless_said_otherwise():
    window = Window()
    for number in range(101):
        window.add(str(number))
    assert "0" not in window
    assert "1" in window
    assert "100" in window


def test_a_window_of_nothing_remembers_nothing():
    window = Window(0)
    window.add("a")
    assert "a" not in window


def test_a_message_that_ends_again_is_the_most_recent_one():
    window = Window(2)
    for message_id in "abac":
        window.add(message_id)
    assert [message_id in window for message_id in "abc"] == [True, False, True]
