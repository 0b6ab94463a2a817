"""Packs in the ledger: marks of members until the pack has ended, the reads of members, and the fence of a member that left."""

import pytest

from sedano.model import packs, states
from sedano.model.ledger.records import NO_RETRY, Claimed, Outcome, TaskRecord
from sedano.model.messages.message import PACK
from sedano.model.packs import LEFT, MemberEnd
from tests.conformance.tasks import CLAIM, NOW, claimed
from tests.conformance.worlds import World

GROUP = "7d4f13a2-0d0e-5c3f-8a86-1f2b3c4d5e6f.k4"
PACK_ID = packs.pack_id(GROUP, 0)
IDS = [packs.member_id(GROUP, index) for index in range(4)]
PACK_CLAIM = CLAIM._replace(task_id=PACK_ID, name=PACK)
ENDS = [MemberEnd(states.SUCCESS, 0, "5", "", 7), LEFT, LEFT, MemberEnd(states.SUCCESS, 0, "6", "", 8)]


def record(world: World, task_id: str = PACK_ID) -> TaskRecord:
    """The record of the pack, or of a member."""
    return world.ledger.read([task_id])[task_id]


def ended(world: World, ends: list[MemberEnd] | None = None) -> None:
    """Record the ends of the claimed pack."""
    held = record(world)
    outcome = Outcome(
        task_id=PACK_ID, state=states.SUCCESS, nonce=held.nonce, fence=held.fence, message_id=held.message_id, attempt=0, clock=9,
        name=PACK, at=NOW, result=packs.ends_text("shop.add", ends or ENDS),
    )  # fmt: skip
    (answer,) = world.ledger.record([outcome])
    assert answer == type(answer)(True)


def test_a_mark_does_not_reserve_an_id(world: World) -> None:
    world.ledger.mark(PACK_ID, {1}, NOW)
    assert world.ledger.reserve(PACK_ID, "m1", NOW, NOW + 60) is None
    assert (record(world).message_id, record(world).marks) == ("m1", frozenset({1}))


def test_a_mark_comes_before_its_pack_and_the_claim_brings_it(world: World) -> None:
    before = world.ledger.mark(PACK_ID, {1}, NOW)
    assert before == TaskRecord(PACK_ID, states.PENDING, marks=frozenset({1}))
    assert record(world) == before
    assert record(world, IDS[1]).state == states.REVOKED
    assert world.ledger.read([IDS[0]]) == {}
    (answer,) = world.ledger.claim([PACK_CLAIM])
    assert isinstance(answer, Claimed)
    assert answer.granted
    assert answer.record is not None
    assert (answer.record.marks, answer.record.fence) == (frozenset({1}), 1)


def test_marks_add_up_and_a_second_mark_changes_nothing(world: World) -> None:
    world.ledger.mark(PACK_ID, {1}, NOW)
    world.ledger.claim([PACK_CLAIM])
    assert world.ledger.mark(PACK_ID, {1, 65}, NOW).marks == {1, 65}
    assert world.ledger.mark(PACK_ID, {2}, NOW).marks == {1, 2, 65}
    assert record(world).state == states.RUNNING
    assert [world.ledger.read([one])[one].asked for one in IDS] == [0, 2, NO_RETRY, 0]


def test_a_pack_that_was_given_back_accepts_marks(world: World) -> None:
    world.ledger.claim([PACK_CLAIM])
    held = record(world)
    world.ledger.record([Outcome(PACK_ID, states.RETRY, held.nonce, held.fence, held.message_id, 0, 9, PACK, NOW)])
    assert world.ledger.mark(PACK_ID, {3}, NOW).marks == {3}
    (answer,) = world.ledger.claim([PACK_CLAIM._replace(nonce="again")])
    assert isinstance(answer, Claimed)
    assert answer.granted
    assert answer.record is not None
    assert (answer.record.marks, answer.record.claims, answer.record.fence) == (frozenset({3}), 1, 2)
    assert record(world, IDS[0]).fence == packs.FENCE


def test_a_mark_after_the_end_is_refused(world: World) -> None:
    world.ledger.claim([PACK_CLAIM])
    world.ledger.mark(PACK_ID, {2}, NOW)
    ended(world)
    after = record(world)
    assert world.ledger.mark(PACK_ID, {0, 1}, NOW) == after
    assert record(world) == after
    assert after.marks == {2}
    assert [world.ledger.read([one])[one].state for one in IDS] == [states.SUCCESS, states.RETRY, states.REVOKED, states.SUCCESS]


def test_members_are_read_together_with_plain_tasks(world: World) -> None:
    world.ledger.claim([PACK_CLAIM])
    ended(world)
    plain = claimed(world.ledger)
    found = world.ledger.read([*IDS, CLAIM.task_id, "unknown"])
    assert found[CLAIM.task_id] == plain
    assert sorted(found) == sorted([*IDS, CLAIM.task_id])
    assert (found[IDS[0]].result, found[IDS[3]].result, found[IDS[0]].clock) == ("5", "6", 7)
    assert PACK_ID in world.ledger.read([IDS[0], PACK_ID])


@pytest.mark.parametrize("attempt", [0, 1])
def test_the_first_claim_of_a_member_that_left_has_the_second_fence(world: World, attempt: int) -> None:
    world.ledger.claim([PACK_CLAIM])
    ended(world)
    single = CLAIM._replace(task_id=IDS[1], attempt=attempt, left=True)
    (answer,) = world.ledger.claim([single])
    assert isinstance(answer, Claimed)
    assert answer.record is not None
    assert (answer.granted, answer.record.fence, answer.record.claims) == (True, packs.LEFT_FENCE, 1)
    assert record(world, IDS[1]) == answer.record
    (again,) = world.ledger.claim([single._replace(nonce="rival")])
    assert again == Claimed(False, answer.record)
    stolen = world.ledger.steal(single._replace(nonce="rival", expires=NOW + 900), answer.record)
    assert isinstance(stolen, Claimed)
    assert stolen.record is not None
    assert stolen.record.fence == packs.LEFT_FENCE + 1


def test_results_of_single_members_are_forgotten(world: World) -> None:
    world.ledger.claim([PACK_CLAIM])
    ended(world)
    world.ledger.forget([IDS[0], IDS[1]])
    found = world.ledger.read(IDS)
    assert [(found[one].state, found[one].result, found[one].forgotten) for one in IDS] == [
        (states.SUCCESS, None, True), (states.RETRY, None, False), (states.RETRY, None, False), (states.SUCCESS, "6", False),
    ]  # fmt: skip
    world.ledger.forget([IDS[0]])
    assert world.ledger.read(IDS) == found


def test_forgetting_members_of_a_pack_that_has_not_ended_changes_nothing(world: World) -> None:
    world.ledger.forget([IDS[0]])
    assert world.ledger.read(IDS) == {}
    world.ledger.claim([PACK_CLAIM])
    before = record(world)
    world.ledger.forget([IDS[0]])
    assert record(world) == before
