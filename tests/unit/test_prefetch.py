"""How many messages a process asks for: never more than may wait for it, and none while no body could begin."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.model.prefetch import AHEAD, GIVE_BACK_S, LEAST_POLL_S, asks, poll_within, share, waits

AT_ONCE = 10


@given(st.integers(1, 64), st.lists(st.tuples(st.sampled_from(["ask", "answer", "end"]), st.integers(0, AT_ONCE)), max_size=200))
def test_a_process_never_holds_more_than_its_bodies_and_one_receipt(concurrency: int, steps: list[tuple[str, int]]) -> None:
    held, polls = 0, list[int]()
    for step, number in steps:
        if step == "ask":
            polls.append(asks(concurrency, held, sum(polls), AT_ONCE))
            assert polls[-1] <= AT_ONCE
        elif step == "answer" and polls:
            held += min(number, polls.pop())
        else:
            held -= min(held, number)
        assert held + sum(polls) <= concurrency + AHEAD


@pytest.mark.parametrize(
    ("held", "asked", "at_once", "messages"),
    [(0, 0, 10, 4), (0, 0, 3, 3), (2, 10, 10, 2), (0, 12, 10, 2), (0, 13, 10, 1), (0, 15, 10, 0), (4, 0, 10, 0), (5, 0, 9, 0)],
)
def test_a_receiver_requests_what_could_begin_and_what_ten_that_wait_leave(held: int, asked: int, at_once: int, messages: int) -> None:
    assert asks(4, held, asked, at_once) == messages


@pytest.mark.parametrize(
    ("concurrency", "receivers", "at_once", "messages"), [(4, 1, 10, 10), (4, 3, 10, 4), (10, 4, 10, 5), (4, 7, 1, 1), (1, 20, 10, 1)]
)
def test_receivers_share_the_bodies_and_one_receipt_and_request_one_message_at_least(
    concurrency: int, receivers: int, at_once: int, messages: int
) -> None:
    assert share(concurrency, receivers, at_once) == messages


@given(st.integers(1, 64), st.integers(0, 80))
def test_a_receiver_asks_when_a_body_could_begin_and_not_otherwise(concurrency: int, held: int) -> None:
    asked = asks(concurrency, held, 0, AT_ONCE)
    assert (asked > 0) == (held < concurrency)
    assert asked <= max(0, concurrency - held)


@given(st.integers(1, 200), st.integers(1, 10))
def test_receivers_that_wait_on_empty_queues_leave_something_to_the_others(concurrency: int, receivers: int) -> None:
    most = share(concurrency, receivers, AT_ONCE)
    assert 1 <= most <= AT_ONCE
    asked = 0
    for _ in range(receivers):
        own = asks(concurrency, 0, asked, most)
        assert own > 0, "no receiver waits for the end of a poll of another one"
        asked += own


@given(st.floats(0, 120), st.integers(1, 20))
def test_a_poll_ends_within_the_drain(drain: float, longest: int) -> None:
    seconds = poll_within(drain, longest)
    assert min(LEAST_POLL_S, longest) <= seconds <= longest
    assert seconds <= max(LEAST_POLL_S, drain - GIVE_BACK_S)
    assert poll_within(25, 20) == 20, "by default a poll is as long as SQS lets it be"


@pytest.mark.parametrize(
    ("held", "found", "at_once", "does"),
    [(3, 1, 10, True), (1, 9, 10, True), (1, 10, 10, False), (0, 4, 10, False), (3, 0, 10, False), (1, 1, 1, False)],
)
def test_a_receiver_waits_for_more_bodies_to_end_only_while_some_run_and_the_queue_could_return_more(
    held: int, found: int, at_once: int, does: bool
) -> None:
    assert waits(held, found, at_once) == does
