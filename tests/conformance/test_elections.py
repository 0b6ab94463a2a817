"""Elections: registered once, closed once among exactly those who were seen, dispatched with the close, led by one a term."""

from typing import Any

import pytest

from sedano.errors import Unavailable
from sedano.model import states
from sedano.model.elections import CLOSED, OPEN, Ballot, Election, closed, successor
from tests.conformance.tasks import CLAIM, claimed, holding, success
from tests.conformance.worlds import World

NOW = 1_767_225_600.0
MS = int(NOW * 1000)
ELECTION = Election("e#1", "task", CLAIM.task_id, '{"task":"shop.ädd"}', "n1", need=frozenset({"b.1", "a b#2"}))


def opened(world: World, **names: int) -> Election:
    """Open the election and register; the names are those of the candidates."""
    world.elections.open(ELECTION, NOW)
    for name, clock in names.items():
        assert world.elections.register(ELECTION.election_id, name, clock).done
    return seen(world)


def close(world: World, end: Election) -> Ballot:
    """Close as *end* says, by whoever holds the call that closes."""
    return world.elections.close(end, NOW, holding(world.ledger, end.by))


def seen(world: World) -> Election:
    """The election as it is now."""
    found = world.elections.read(ELECTION.election_id)
    assert found is not None
    return found


def test_an_election_is_read_back(world: World) -> None:
    assert world.elections.read(ELECTION.election_id) is None
    assert world.elections.open(ELECTION, NOW) == Ballot(True, ELECTION)
    assert seen(world) == ELECTION


def test_an_election_is_opened_once_and_the_second_gets_the_first(world: World) -> None:
    world.elections.open(ELECTION, NOW)
    assert world.elections.open(ELECTION._replace(nonce="n2", draft="other"), NOW) == Ballot(False, ELECTION)
    assert world.elections.open(ELECTION, NOW) == Ballot(True, ELECTION)


def test_who_registers_is_a_candidate_with_its_clock(world: World) -> None:
    world.elections.open(ELECTION, NOW)
    expected = ELECTION._replace(candidates={"a b#2": 1_767_225_600_000_001}, version=1)
    assert world.elections.register(ELECTION.election_id, "a b#2", 1_767_225_600_000_001) == Ballot(True, expected)
    assert seen(world) == expected


def test_a_second_registration_of_one_worker_changes_nothing(world: World) -> None:
    before = opened(world, a=5)
    assert world.elections.register(ELECTION.election_id, "a", 3) == Ballot(False, before)
    assert world.elections.register(ELECTION.election_id, "a", 5) == Ballot(True, before)
    assert seen(world) == before


def test_nobody_registers_where_there_is_no_election_or_after_its_close(world: World) -> None:
    assert world.elections.register(ELECTION.election_id, "a", 5) == Ballot(False, None)
    end = closed(opened(world, a=5), "closer", MS)
    close(world, end)
    assert world.elections.register(ELECTION.election_id, "b", 1) == Ballot(False, end)


def test_a_close_names_the_winner_and_notes_the_task(world: World) -> None:
    end = closed(opened(world, b=5, a=5, c=7), "closer", MS)
    assert end.winner == "a"
    assert close(world, end) == Ballot(True, end)
    assert seen(world) == end
    noted = world.ledger.read([CLAIM.task_id])[CLAIM.task_id]
    assert (noted.state, noted.message_id) == (states.PENDING, "closer")
    assert claimed(world.ledger).state == states.RUNNING


def test_a_close_is_written_as_it_says(world: World) -> None:
    end = closed(opened(world, a=5), "closer", MS)._replace(term=2)
    assert close(world, end) == Ballot(True, end)
    assert seen(world) == end


def test_a_close_after_a_later_registration_is_refused_and_notes_nothing(world: World) -> None:
    stale = closed(opened(world, b=5), "closer", MS)
    world.elections.register(ELECTION.election_id, "a", 1)
    assert close(world, stale) == Ballot(False, seen(world))
    assert seen(world).state == OPEN
    assert world.ledger.read([CLAIM.task_id]) == {}


def test_an_election_closes_once(world: World) -> None:
    before = opened(world, a=5)
    first = closed(before, "first", MS)
    close(world, first)
    assert close(world, closed(before, "second", MS)) == Ballot(False, first)
    assert close(world, first) == Ballot(True, first)


def test_who_lost_the_call_that_closes_closes_nothing_and_is_told_of_no_election(world: World) -> None:
    end = closed(opened(world, a=5), "closer", MS)
    first = holding(world.ledger, "closer")
    assert world.elections.close(end, NOW, first + 1) == Ballot(False, None)
    assert world.elections.close(end._replace(by="nobody"), NOW, first) == Ballot(False, None)
    taken = CLAIM._replace(task_id="closer", nonce="d" * 32)
    world.ledger.record([success(taken, first)])
    assert world.elections.close(end, NOW, first) == Ballot(False, None)
    assert seen(world).state == OPEN
    assert world.ledger.read([CLAIM.task_id]) == {}


def test_who_lost_the_call_is_answered_with_the_election_once_it_is_closed(world: World) -> None:
    before = opened(world, a=5)
    end = closed(before, "closer", MS)
    close(world, end)
    assert world.elections.close(closed(before, "nobody", MS), NOW, 7) == Ballot(False, end)


def test_an_election_that_is_not_there_is_neither_closed_nor_passed_on(world: World) -> None:
    end = closed(ELECTION._replace(candidates={"a": 5}), "closer", MS)
    assert world.elections.close(end, NOW, 7) == close(world, end) == Ballot(False, None)
    assert world.elections.advance(successor(end, "b", MS + 60_000), end) == Ballot(False, None)
    assert world.elections.read(ELECTION.election_id) is None
    assert world.ledger.read([CLAIM.task_id]) == {}


def test_an_election_about_a_task_that_is_known_closes_all_the_same(world: World) -> None:
    held = claimed(world.ledger)
    end = closed(opened(world, a=5), "closer", MS)
    assert close(world, end) == Ballot(True, end)
    assert world.ledger.read([CLAIM.task_id]) == {CLAIM.task_id: held}


@pytest.mark.parametrize("operation", ["TransactWriteItems", "UpdateItem", "PutItem"])
def test_a_write_whose_answer_was_lost_is_recognised_as_ones_own(world: World, operation: str) -> None:
    def twice(ballot: object) -> Ballot:
        assert callable(ballot)
        with world.losing(operation):
            try:
                ballot()
            except Unavailable:
                assert not world.is_local
        answer = ballot()
        assert isinstance(answer, Ballot)
        return answer

    assert twice(lambda: world.elections.open(ELECTION, NOW)).done
    assert twice(lambda: world.elections.register(ELECTION.election_id, "a", 5)).done
    end = closed(seen(world), "closer", MS)
    holding(world.ledger, end.by)
    assert twice(lambda: close(world, end)) == Ballot(True, end)


def test_one_succeeds_the_winner_in_a_term(world: World) -> None:
    end = closed(opened(world, a=1, b=2), "closer", MS)
    close(world, end)
    following = successor(end, "c", MS + 60_000)
    assert (following.winner, following.term) == ("b", 1)
    assert world.elections.advance(following, end) == Ballot(True, following)
    late = following._replace(winner="c")
    assert world.elections.advance(late, end) == Ballot(False, following)
    assert world.elections.advance(following, end) == Ballot(True, following)
    assert successor(following, "c", MS + 120_000).winner == "c"


def test_nobody_leads_an_election_that_is_open(world: World) -> None:
    before = opened(world, a=1)
    assert not world.elections.advance(before._replace(state=CLOSED, winner="a"), before).done
    assert seen(world) == before


@pytest.mark.parametrize("change", [{"winner": "b"}, {"term": 7}, {"until": MS - 1}])
def test_the_lead_is_passed_on_only_as_it_was_seen(world: World, change: dict[str, Any]) -> None:
    end = closed(opened(world, a=1, b=2), "closer", MS)
    close(world, end)
    assert world.elections.advance(successor(end, "c", MS + 60_000), end._replace(**change)) == Ballot(False, end)
    assert seen(world) == end


def test_a_dispatched_task_that_nobody_published_can_be_reserved(world: World) -> None:
    close(world, closed(opened(world, a=5), "closer", MS))
    assert world.ledger.reserve(CLAIM.task_id, "m-2", NOW, NOW + 60) is None
    assert world.ledger.read([CLAIM.task_id])[CLAIM.task_id].message_id == "m-2"
