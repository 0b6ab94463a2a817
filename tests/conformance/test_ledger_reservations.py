"""Deduplication keys: a task id is reserved before its one publication (PROTOCOLS §3)."""

import pytest

from sedano.errors import Unavailable
from sedano.model import states
from sedano.model.ledger.records import Outcome, TaskRecord
from tests.conformance.tasks import CLAIM, NOW, accepted, claimed, retry, stored, success
from tests.conformance.worlds import World


def reserve(world: World, message_id: str = "message-1", now: float = NOW, until: float = NOW + 60.0005) -> TaskRecord | None:
    """Reserve the task of CLAIM."""
    return world.ledger.reserve(CLAIM.task_id, message_id, now, until)


def test_a_task_is_reserved_once(world: World) -> None:
    assert reserve(world) is None
    in_the_way = reserve(world, "message-2")
    assert in_the_way is not None
    assert (in_the_way.state, in_the_way.message_id, in_the_way.reserved) == (states.PENDING, "message-1", NOW + 60.0)
    assert in_the_way == stored(world.ledger)


def test_an_own_reservation_is_recognised_when_its_answer_was_lost(aws_world: World) -> None:
    with aws_world.losing("UpdateItem"), pytest.raises(Unavailable, match="no answer"):
        reserve(aws_world)
    assert reserve(aws_world) is None


def test_reserving_again_is_the_same_reservation(world: World) -> None:
    assert reserve(world) is None
    assert reserve(world) is None


def test_a_reservation_that_lapsed_may_be_taken_over(world: World) -> None:
    reserve(world)
    assert reserve(world, "message-2", now=NOW + 60.0) is not None
    assert reserve(world, "message-2", now=NOW + 60.001, until=NOW + 120) is None
    assert stored(world.ledger).message_id == "message-2"


def test_a_reserved_task_is_granted_to_its_message_even_late(world: World) -> None:
    reserve(world, until=NOW - 1)
    held = claimed(world.ledger)
    assert (held.state, held.fence, held.claims) == (states.RUNNING, 1, 1)


def test_a_message_that_must_find_a_record_is_granted_what_was_reserved_for_it(world: World) -> None:
    reserve(world)
    held = claimed(world.ledger, CLAIM._replace(must_exist=True, owner="worker.1"))
    assert (held.state, held.attempt, held.fence, held.claims) == (states.RUNNING, 0, 1, 1)
    assert (held.clock, held.name, held.owner, held.nonce) == (CLAIM.clock, "shop.add", "worker.1", CLAIM.nonce)
    assert (held.message_id, held.expires) == ("message-1", NOW + 60.124)


def test_a_reserved_task_may_be_kept_without_a_claim(world: World) -> None:
    reserve(world)
    assert accepted(world.ledger.keep([success(fence=0)])[0])


@pytest.mark.parametrize("outcome", [None, retry(), success()])
def test_a_task_that_began_can_no_longer_be_reserved(world: World, outcome: Outcome | None) -> None:
    claimed(world.ledger)
    if outcome is not None:
        world.ledger.record([outcome])
    began = stored(world.ledger)
    for message_id in ("message-1", "message-2"):
        assert reserve(world, message_id, now=NOW + 10_000, until=NOW + 20_000) == began
    assert stored(world.ledger) == began


@pytest.mark.parametrize("outcome", [None, retry(), success()])
def test_a_reservation_that_lapsed_after_its_task_began_is_not_taken_over(world: World, outcome: Outcome | None) -> None:
    reserve(world, until=NOW + 1)
    claimed(world.ledger)
    if outcome is not None:
        world.ledger.record([outcome])
    began = stored(world.ledger)
    assert began.reserved == NOW + 1
    assert reserve(world, "message-2", now=NOW + 10_000, until=NOW + 20_000) == began == stored(world.ledger)
