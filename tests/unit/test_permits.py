"""Permits: whoever chooses finds a free one if there is one, tokens rise, and what is kept is kept."""

from hypothesis import given
from hypothesis import strategies as st

from sedano.model.limits.concurrency import GUARD_MS, Board, Full, Permit, chosen, ended, granted, running

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
