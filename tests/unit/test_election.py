"""The rule of elections, over every order in which workers register, close, die and come back."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano import memory
from sedano.model.elections import CLOSED, MOST_TERMS, OPEN, PATIENCE_S, Election, Turn, closed, complete, led, order, successor, turn
from tests.conformance.tasks import holding

NAMES = ("a", "b", "c", "d", "e")
NOW = int(memory.START * 1000)
candidates = st.dictionaries(st.sampled_from(NAMES), st.integers(0, 5), min_size=1)


def election(clocks: dict[str, int], **changes: object) -> Election:
    """An open election with these candidates."""
    return Election("e", "task", "t", "{}", "n", candidates=clocks, **changes)  # type: ignore[arg-type]


@given(candidates)
def test_the_lowest_clock_wins_and_the_name_breaks_ties(clocks: dict[str, int]) -> None:
    winner = closed(election(clocks), "by", NOW).winner
    assert all((clocks[winner], winner) <= (clock, name) for name, clock in clocks.items())


@given(candidates, st.permutations(NAMES))
def test_the_order_of_registration_decides_nothing(clocks: dict[str, int], names: list[str]) -> None:
    shuffled = {name: clocks[name] for name in names if name in clocks}
    assert closed(election(shuffled), "by", NOW).winner == closed(election(clocks), "by", NOW).winner


def test_an_election_without_candidates_cannot_be_closed() -> None:
    with pytest.raises(ValueError, match="no worker"):
        closed(election({}), "by", NOW)
    assert not complete(election({}))


def test_it_is_complete_when_everyone_who_was_needed_has_registered() -> None:
    assert not complete(election({"a": 1}, need=frozenset("ab")))
    assert complete(election({"a": 1, "b": 2, "c": 3}, need=frozenset("ab")))


@given(candidates, st.sampled_from([*NAMES, "new"]))
def test_the_successor_chain_tries_the_first_candidates_once_and_then_whoever_is_there(clocks: dict[str, int], me: str) -> None:
    now, chain = closed(election(clocks), "by", NOW), []
    for _ in list(clocks)[:MOST_TERMS]:
        chain.append(now.winner)
        assert turn(now, me, now.until) is (Turn.LEAD if now.winner == me else Turn.WAIT)
        now = successor(now, me, now.until + 1)
    assert chain == order(clocks)[:MOST_TERMS]
    assert (now.winner, now.term) == (me, len(chain))
    assert turn(now, me, now.until) is Turn.LEAD


def test_nobody_succeeds_a_winner_at_work() -> None:
    end = closed(election({"a": 1, "b": 2}), "by", NOW)
    assert turn(end, "b", NOW + int(PATIENCE_S * 1000)) is Turn.WAIT
    assert turn(end, "b", NOW + int(PATIENCE_S * 1000) + 1) is Turn.SUCCEED
    assert turn(led(end, NOW + 60_000), "b", NOW + 60_000) is Turn.WAIT
    assert turn(election({"a": 1}), "a", NOW) is Turn.WAIT


@pytest.mark.parametrize("seed", range(300))
def test_however_workers_race_there_is_one_close_and_the_lowest_registered_wins(seed: int) -> None:
    """L1, L2, L3 over random schedules: registrations that come twice or late, closers that looked long ago, workers that die."""
    dice = random.Random(seed)
    ledger = memory.MemoryLedger(memory.VirtualClock(memory.START))
    port = memory.MemoryElections(ledger)
    port.open(election({}), memory.START)
    looks: list[tuple[str, Election]] = []
    closes: list[str] = []
    registered: dict[str, int] = {}
    for step in range(60):
        name = dice.choice(NAMES)
        if dice.random() < 0.5:
            clock = dice.randrange(5)
            if port.register("e", name, clock).done:
                registered.setdefault(name, clock)
        found = port.read("e")
        assert found is not None
        if found.candidates and found.state == OPEN:
            looks.append((f"{name}/{step}", found))
        if looks and dice.random() < 0.4:
            by, look = dice.choice(looks)
            closes += [by] * (port.close(closed(look, by, NOW), memory.START, holding(ledger, by)).done and by not in closes)
    found = port.read("e")
    assert found is not None
    if found.state == OPEN:
        assert port.close(closed(found, "the last", NOW), memory.START, holding(ledger, "the last")).done
        closes.append("the last")
        found = port.read("e")
    assert found is not None
    assert (found.state, closes) == (CLOSED, [found.by])
    assert (found.candidates, found.winner) == (registered, order(registered)[0])
