"""Logical clocks and stamps at their edges: how far ahead is too far, and how long a list of stamps may be."""

from typing import Any

import pytest

from sedano.errors import OptionError
from sedano.model.messages import stamps
from sedano.model.messages.lamport import ClockAhead, LamportClock, adjust, agrees, forward

FIVE_MINUTES = 300_000_000


@pytest.mark.parametrize(("clock", "now", "after"), [(5, 7, 7), (5, 6, 6), (5, 5, 6), (5, 4, 6)])
def test_a_local_event_takes_the_time_or_one_more(clock: int, now: int, after: int) -> None:
    assert forward(clock, now) == after
    assert LamportClock(lambda: now, clock).forward() == after


@pytest.mark.parametrize(("clock", "other", "now", "after"), [(5, 1, 2, 6), (1, 5, 2, 6), (1, 2, 5, 6), (1, 300_000_002, 2, 300_000_003)])
def test_a_received_clock_is_followed(clock: int, other: int, now: int, after: int) -> None:
    assert adjust(clock, other, now) == after
    assert LamportClock(lambda: now, clock).adjust(other) == after


def test_a_clock_that_is_more_than_five_minutes_ahead_is_refused() -> None:
    told = "the message's clock is 300 s ahead of this machine's, and 300 are allowed: one of the two is wrong"
    with pytest.raises(ClockAhead, match=f"^{told}$"):
        adjust(0, 8 + FIVE_MINUTES, 7)
    with pytest.raises(ClockAhead, match=r"^the message's clock is 3600000 s ahead of this machine's, and 300 are allowed"):
        adjust(0, 3_600_000_000_000, 0)


@pytest.mark.parametrize(
    ("clock", "sent", "plausible"),
    [(0, 0.0, False), (0, -1.0, False), (0, 0.5, True), (301_000_000, 0.0, False), (302_500_000, 1.5, True), (302_500_001, 1.5, False),
     (10**15 + 301_000_000, 1e9, True), (10**15 + 301_000_001, 1e9, False)],
)  # fmt: skip
def test_a_clock_agrees_with_the_time_at_which_the_queue_took_the_message(clock: int, sent: float, plausible: bool) -> None:
    assert agrees(clock, sent) is plausible


def test_an_event_bears_the_tenant_before_the_stamps() -> None:
    assert stamps.for_event("a=b", None) == "a=b"
    assert stamps.for_event(None, None) is None
    assert stamps.for_event("a=b", "é/") == "tenant=%C3%A9%2F,a=b"
    assert stamps.for_event(None, "x") == stamps.for_event("", "x") == "tenant=x"


@pytest.mark.parametrize(("length", "read"), [(4_095, True), (4_096, True), (4_097, False)])
def test_an_event_has_at_most_4096_characters_of_stamps(length: int, read: bool) -> None:
    assert stamps.from_event("a=" + "b" * (length - 2)) == ({"a": "b" * (length - 2)} if read else {})
    assert stamps.LONGEST_TOLD == 4_096


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({5: "a"}, "stamps: 5 is not a name; letters, digits, '_', '.' and '-', at most 64, a letter or '_' first"),
        ({"a b": "a"}, "stamps: 'a b' is not a name; "), ({"x" * 65: "a"}, f"stamps: '{'x' * 65}' is not a name; "),
        ({"tenant": "a"}, "stamps: every task has 'tenant' already; choose another name"),
        ({"a": ""}, "stamps: a: expected a text that is not empty, got ''"),
        ({"a": 5}, "stamps: a: expected a text that is not empty, got 5"),
        ({"a": ["x" * 300]}, ("stamps: a: expected a text that is not empty, got ['" + "x" * 300)[:200]),
        ({"a": "\udcff"}, "stamps: a: half a surrogate pair is not text"),
        ({"a": "b" * 255}, "stamps: 257 characters in written form; all stamps of a task together may have 256"),
    ],
)  # fmt: skip
def test_stamps_that_are_wrong_are_refused_with_the_reason(given: Any, told: str) -> None:
    with pytest.raises(OptionError) as caught:
        stamps.write(given)
    assert str(caught.value).startswith(told)
    assert len(str(caught.value)) <= 200


def test_stamps_are_written_in_the_order_of_their_names_up_to_256_characters() -> None:
    assert stamps.write({"b": "c", "a": "é"}) == "a=%C3%A9,b=c"
    assert stamps.write({"a": "b" * 254}) == f"a={'b' * 254}"
