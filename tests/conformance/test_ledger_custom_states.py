"""A custom state is shown by the holder of a task only, for as long as it holds it."""

from sedano.model import states
from tests.conformance.tasks import CLAIM, NOW, claimed, retry, rival, success
from tests.conformance.worlds import World

SHOWN = '[1,"PROGRESS",{"done":1}]'


def custom(world: World) -> str:
    """What the record holds."""
    return world.ledger.read([CLAIM.task_id])[CLAIM.task_id].custom


def test_the_holder_shows_one_state_after_the_other(world: World) -> None:
    held = claimed(world.ledger)
    assert held.custom == ""
    assert world.ledger.show(CLAIM.task_id, held.fence, SHOWN)
    assert world.ledger.read([CLAIM.task_id])[CLAIM.task_id] == held._replace(custom=SHOWN)
    assert world.ledger.show(CLAIM.task_id, held.fence, "[]")
    assert custom(world) == "[]"


def test_nobody_else_shows_anything(world: World) -> None:
    assert not world.ledger.show(CLAIM.task_id, 0, SHOWN), "no worker has claimed it"
    assert world.ledger.read([CLAIM.task_id]) == {}
    held = claimed(world.ledger)
    for fence in (held.fence - 1, held.fence + 1):
        assert not world.ledger.show(CLAIM.task_id, fence, SHOWN)
    assert custom(world) == ""


def test_a_worker_whose_claim_was_stolen_shows_nothing(world: World) -> None:
    held = claimed(world.ledger)
    assert world.ledger.steal(rival(expires=NOW + 900), held)
    assert not world.ledger.show(CLAIM.task_id, held.fence, SHOWN)
    assert custom(world) == ""


def test_after_the_end_nothing_is_shown_and_the_end_keeps_no_trace_once_it_is_forgotten(world: World) -> None:
    held = claimed(world.ledger)
    assert world.ledger.show(CLAIM.task_id, held.fence, SHOWN)
    world.ledger.record([success()])
    assert not world.ledger.show(CLAIM.task_id, held.fence, "[]")
    world.ledger.forget([CLAIM.task_id])
    after = world.ledger.read([CLAIM.task_id])[CLAIM.task_id]
    assert (after.state, after.custom) == (states.SUCCESS, "")


def test_between_two_attempts_nothing_is_shown(world: World) -> None:
    held = claimed(world.ledger)
    world.ledger.record([retry()])
    assert not world.ledger.show(CLAIM.task_id, held.fence, SHOWN)
