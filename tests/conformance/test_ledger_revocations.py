"""Revocation by id: a state that the claim meets, or a mark that the next claim meets; never a change of what has ended."""


import pytest

from sedano.errors import Unavailable
from sedano.model import states
from sedano.model.ledger.records import NO_RETRY, TERMINATE, Claimed, TaskRecord
from tests.conformance.tasks import CLAIM, NOW, claimed, in_the_way, retry, rival, success
from tests.conformance.worlds import World

CLOCK = CLAIM.clock + 1_000


def record(world: World) -> TaskRecord:
    """The task's record."""
    return world.ledger.read([CLAIM.task_id])[CLAIM.task_id]


def test_a_task_that_nobody_knows_is_revoked_before_its_message_comes(world: World) -> None:
    assert world.ledger.revoke(CLAIM.task_id, CLOCK, NOW) is None
    assert record(world) == TaskRecord(CLAIM.task_id, states.REVOKED, clock=CLOCK)
    met = in_the_way(world.ledger.claim([CLAIM])[0])
    assert met is not None
    assert met.state == states.REVOKED


def test_revoking_again_changes_nothing(world: World) -> None:
    world.ledger.revoke(CLAIM.task_id, CLOCK, NOW)
    before = record(world)
    assert world.ledger.revoke(CLAIM.task_id, CLOCK + 1, NOW + 1) is None
    assert record(world) == before


def test_a_reserved_task_is_revoked(world: World) -> None:
    world.ledger.reserve(CLAIM.task_id, "m", NOW, NOW + 60)
    assert world.ledger.revoke(CLAIM.task_id, CLOCK, NOW) is None
    assert record(world).state == states.REVOKED


def test_a_task_that_waits_for_its_retry_is_revoked_and_no_message_answers_for_it(world: World) -> None:
    claimed(world.ledger)
    world.ledger.record([retry(result="1")])
    assert world.ledger.revoke(CLAIM.task_id, CLOCK, NOW) is None
    after = record(world)
    assert (after.state, after.message_id, after.attempt, after.not_before, after.result) == (states.REVOKED, "", 1, 0.0, None)
    assert in_the_way(world.ledger.claim([CLAIM._replace(attempt=1, must_exist=True)])[0]) == after


def test_a_running_task_stands_in_the_way_of_its_revocation(world: World) -> None:
    held = claimed(world.ledger)
    assert world.ledger.revoke(CLAIM.task_id, CLOCK, NOW) == held
    assert record(world) == held


@pytest.mark.parametrize("state", sorted(states.TERMINAL - {states.REVOKED}))
def test_what_has_ended_is_not_revoked(world: World, state: str) -> None:
    claimed(world.ledger)
    world.ledger.record([success(state=state)])
    ended = record(world)
    assert world.ledger.revoke(CLAIM.task_id, CLOCK, NOW) == ended
    assert not world.ledger.ask(CLAIM.task_id, TERMINATE)
    assert record(world) == ended


def test_a_running_task_is_asked_and_what_was_asked_is_never_taken_back(world: World) -> None:
    held = claimed(world.ledger)
    assert world.ledger.ask(CLAIM.task_id, TERMINATE)
    assert world.ledger.ask(CLAIM.task_id, NO_RETRY)
    assert record(world) == held._replace(asked=TERMINATE)


def test_a_running_task_that_was_asked_can_be_asked_more(world: World) -> None:
    held = claimed(world.ledger)
    assert world.ledger.ask(CLAIM.task_id, NO_RETRY)
    assert world.ledger.ask(CLAIM.task_id, NO_RETRY)
    assert world.ledger.ask(CLAIM.task_id, TERMINATE)
    assert record(world) == held._replace(asked=TERMINATE)


def test_only_a_running_task_is_asked(world: World) -> None:
    assert not world.ledger.ask(CLAIM.task_id, TERMINATE)
    world.ledger.reserve(CLAIM.task_id, "m", NOW, NOW + 60)
    assert not world.ledger.ask(CLAIM.task_id, TERMINATE)


def test_the_holder_of_a_task_that_was_asked_still_records_how_it_ended(world: World) -> None:
    claimed(world.ledger)
    world.ledger.ask(CLAIM.task_id, TERMINATE)
    world.ledger.record([success()])
    assert record(world).state == states.SUCCESS


def test_a_retry_of_a_task_that_was_asked_is_not_granted_and_can_be_ended(world: World) -> None:
    claimed(world.ledger)
    world.ledger.ask(CLAIM.task_id, NO_RETRY)
    world.ledger.record([retry()])
    for must_exist in (True, False):
        met = in_the_way(world.ledger.claim([rival(attempt=1, must_exist=must_exist)])[0])
        assert met is not None
        assert (met.state, met.asked) == (states.RETRY, NO_RETRY)
    assert world.ledger.revoke(CLAIM.task_id, CLOCK, NOW) is None


def test_a_revocation_whose_answer_was_lost_stands(world: World) -> None:
    with world.losing("UpdateItem"):
        try:
            world.ledger.revoke(CLAIM.task_id, CLOCK, NOW)
        except Unavailable:
            assert not world.is_local
    assert world.ledger.revoke(CLAIM.task_id, CLOCK, NOW) is None
    assert record(world).state == states.REVOKED


def test_the_claim_says_who_holds_the_task(world: World) -> None:
    assert claimed(world.ledger, CLAIM._replace(owner="host.1.ä")).owner == "host.1.ä"
    answer = world.ledger.steal(rival(owner="host.2"), record(world))
    assert isinstance(answer, Claimed)
    assert answer.record is not None
    assert answer.record.owner == "host.2"
