"""The rule of elections, over every order in which workers register, close, die and come back."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano import memory
from sedano.errors import ArgumentError
from sedano.model.elections import (
    CLOSED,
    MOST_TERMS,
    OPEN,
    PATIENCE_S,
    Election,
    ElectionRequest,
    Turn,
    closed,
    complete,
    led,
    order,
    question,
    successor,
    turn,
)
from tests.conformance.tasks import holding

TASK = "5eda0000-0000-4000-8000-000000000001"
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


def test_a_winner_has_ten_seconds_and_the_holder_of_the_message_dispatches_after_four_terms() -> None:
    now = closed(election({"a": 1, "b": 2, "c": 3, "d": 4, "e": 5}), "by", NOW)
    chain = [(now.winner, now.term, now.until)]
    for term in range(1, 5):
        now = successor(now, "me", NOW + term)
        chain.append((now.winner, now.term, now.until - term))
    assert chain == [(name, term, NOW + 10_000) for term, name in enumerate(["a", "b", "c", "d", "me"])]


@pytest.mark.parametrize("about", [("a", TASK, "{}"), ("", TASK, "")])
def test_the_first_candidate_wins_an_election_without_members(about: tuple[str, str, str]) -> None:
    assert question(about) == ElectionRequest(*about, need=frozenset(), timeout=0)


@pytest.mark.parametrize("timeout", [0, 1, 900])
def test_a_faithful_election_names_its_members_and_how_long_it_is_open(timeout: int) -> None:
    asked = question(("topic", TASK, "{}", ["b", "a", "b"], timeout))
    assert asked == ElectionRequest("topic", TASK, "{}", frozenset("ab"), timeout)


@pytest.mark.parametrize("about", [(), ("a", TASK), ("a", TASK, "{}", []), ("a", TASK, "{}", [], 1, 2), (1, TASK, "{}"), ("a", 1, "{}"),
                                   ("a", TASK, 1), ("a", TASK, None, [], 1)])  # fmt: skip
def test_a_request_of_another_form_is_no_election(about: tuple[object, ...]) -> None:
    with pytest.raises(ArgumentError, match=r"^about: expected a topic, a task's id and a draft, all strings; if faithful, also members"):
        question(about)


@pytest.mark.parametrize(
    ("place", "about", "why"),
    [
        ("about[1]", ("a", "no id\n", "{}"), "expected the id of a task"),
        ("about[3]", ("a", TASK, "{}", ("a",), 1), "expected the names of members"),
        ("about[3]", ("a", TASK, "{}", ["a", 1], 1), "expected the names of members"),
        *(("about[4]", ("a", TASK, "{}", ["a"], wrong), "expected whole seconds from 0 to 900") for wrong in (-1, 901, True, 1.0, "1")),
    ],
)
def test_a_request_that_is_wrong_is_refused_with_its_place(place: str, about: tuple[object, ...], why: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        question(about)
    assert str(caught.value) == f"{place}: {why}"


def test_whoever_holds_the_message_follows_a_winner_that_is_no_candidate() -> None:
    assert successor(election({"a": 1, "b": 2}, winner="gone", term=1), "me", NOW).winner == "me"
