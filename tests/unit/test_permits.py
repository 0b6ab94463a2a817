"""Permits: whoever chooses finds a free one if there is one, tokens rise, and what is kept is kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.model.limits.concurrency import (
    BOARD_SIZE,
    GUARD_MS,
    MOST_PERMITS,
    MOST_WAITING,
    RESERVED_MS,
    Board,
    Full,
    Permit,
    boards_of,
    chosen,
    ended,
    granted,
    merged,
    running,
)

NOW = 1_800_000_000_000
EXPIRES = st.integers(NOW - 9_000, NOW + 9_000)
PERMIT = st.builds(Permit, st.just(0), st.integers(1, NOW), st.text("ab"), st.just("o"), EXPIRES, st.sampled_from(["", "me", "you"]))
PERMITS = st.dictionaries(st.integers(0, 7), PERMIT).map(lambda found: {n: permit._replace(number=n) for n, permit in found.items()})


@given(PERMITS, st.integers(1, 8), st.floats(0, 1, exclude_max=True))
def test_a_free_permit_is_found_when_there_is_one(permits: dict[int, Permit], limit: int, unit: float) -> None:
    found = chosen(Board("b", permits), limit, NOW, "me", unit)
    free = [n for n in range(limit) if n not in permits or ended(permits[n], NOW)]
    mine = [n for n in range(limit) if n in permits and permits[n].kept == "me" and permits[n].expires > NOW]
    if isinstance(found, Full):
        assert not free
        assert not mine
        assert found.soonest.expires == min(permits[n].expires for n in range(limit))
    else:
        assert found in (mine or free)


@given(PERMITS, st.integers(0, 7), st.integers(NOW - 5_000, NOW + 5_000))
def test_tokens_rise_whatever_the_clock_says(permits: dict[int, Permit], number: int, now: int) -> None:
    new = granted(Board("b", permits), number, now, now + 1, "n", "o")
    assert number not in permits or new.token > permits[number].token


def test_nobody_takes_a_permit_within_the_guard() -> None:
    held = Permit(0, 1, "n", "o", NOW)
    assert not ended(held, NOW + GUARD_MS - 1)
    assert ended(held, NOW + GUARD_MS)


def test_what_runs_is_what_is_held_and_not_kept() -> None:
    permits = {0: Permit(0, 1, "a", "o", NOW + 1), 1: Permit(1, 1, "b", "o", NOW + 1, "m"), 2: Permit(2, 1, "c", "o", NOW)}
    assert [permit.number for permit in running(Board("b", permits), NOW)] == [0]


def test_the_figures_of_permits_are_those_that_are_described() -> None:
    assert (GUARD_MS, RESERVED_MS, MOST_PERMITS, MOST_WAITING) == (1_000, 5_000, 1_000, 10)


def _held(number: int, expires: int, kept: str = "") -> Permit:
    return Permit(number, 7, "n", "o", expires, kept)


@pytest.mark.parametrize(
    ("permits", "who", "unit", "expected"),
    [
        ([], "me", 0.0, 0),
        ([], "me", 0.34, 1),
        ([], "me", 0.99, 2),
        ([_held(2, NOW + 1, "me")], "me", 0.0, 2),
        ([_held(2, NOW, "me")], "me", 0.99, 1),
        ([_held(2, NOW + 1, "you")], "me", 0.99, 1),
        ([_held(2, NOW + 1)], "", 0.99, 1),
        ([_held(1, NOW + 1), _held(2, NOW - 1_000)], "me", 0.99, 2),
        ([_held(1, NOW + 1), _held(2, NOW - 999)], "me", 0.99, 0),
        ([_held(0, NOW + 9), _held(1, NOW + 7), _held(2, NOW + 8)], "me", 0.99, Full(_held(1, NOW + 7))),
        ([_held(0, NOW + 9), _held(1, NOW + 9), _held(2, NOW + 9), _held(3, NOW + 9, "me")], "me", 0.0, Full(_held(0, NOW + 9))),
    ],
)
def test_the_permit_that_is_chosen(permits: list[Permit], who: str, unit: float, expected: int | Full) -> None:
    assert chosen(Board("b", {one.number: one for one in permits}), 3, NOW, who, unit) == expected


@pytest.mark.parametrize(("before", "token"), [(None, NOW), (5, NOW), (NOW - 1, NOW), (NOW, NOW + 1), (NOW + 9, NOW + 10)])
def test_the_token_of_a_permit_is_the_time_or_one_more_than_the_last_one(before: int | None, token: int) -> None:
    permits = {} if before is None else {3: _held(3, NOW)._replace(token=before)}
    assert granted(Board("b", permits), 3, NOW, NOW + 60, "nonce", "owner") == Permit(3, token, "nonce", "owner", NOW + 60)


@pytest.mark.parametrize(("limit", "boards"), [(0, 0), (1, 1), (10, 1), (11, 2), (20, 2), (300, 30), (1_000, 100)])
def test_a_limit_has_a_board_for_each_started_ten(limit: int, boards: int) -> None:
    assert boards_of(limit) == boards
    assert BOARD_SIZE == 10


def test_a_limit_has_as_many_boards_as_their_size_asks_for() -> None:
    assert boards_of(5, 2) == 3


@given(PERMITS, PERMITS)
def test_of_two_entries_of_a_permit_the_later_holder_counts(known: dict[int, Permit], read: dict[int, Permit]) -> None:
    found = merged(Board("b", known, ("m",)), Board("c", read, ("n",)))
    assert (found.name, found.waiting, set(found.permits)) == ("b", ("m",), {*known, *read})
    for number, permit in found.permits.items():
        if number in known and number in read:
            assert permit == (read if read[number].token >= known[number].token else known)[number]
        else:
            assert permit == {**known, **read}[number]
