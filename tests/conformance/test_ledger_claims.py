"""Who may run a task: the claim, the steal, and the answers that get lost (PROTOCOLS §3)."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from sedano.model import states
from sedano.model.inline_links import inline_id
from sedano.model.ledger.claims import Action, decide
from sedano.model.ledger.records import Claimed, Extension, TaskRecord
from sedano.model.messages.message import Command, Place
from tests.conformance.tasks import CLAIM, NOW, claimed, granted, in_the_way, retry, rival, stored, success
from tests.conformance.worlds import World


def test_a_task_that_nobody_knows_is_granted_to_whoever_claims_it(world: World) -> None:
    assert claimed(world.ledger) == TaskRecord(
        "task-1",
        states.RUNNING,
        attempt=0,
        fence=1,
        claims=1,
        nonce=CLAIM.nonce,
        message_id="message-1",
        expires=NOW + 60.124,
        clock=CLAIM.clock,
        name="shop.add",
    )


def test_what_was_granted_is_what_is_stored(world: World) -> None:
    assert claimed(world.ledger) == stored(world.ledger)


def test_a_refusal_brings_the_record_in_the_way(world: World) -> None:
    held = claimed(world.ledger)
    assert in_the_way(world.ledger.claim([rival()])[0]) == held


def test_claiming_again_under_the_same_nonce_is_the_same_claim(world: World) -> None:
    held = claimed(world.ledger)
    assert claimed(world.ledger) == held
    assert stored(world.ledger).claims == 1


def test_an_own_claim_is_recognised_when_its_answer_was_lost(world: World) -> None:
    with world.losing("UpdateItem"):
        world.ledger.claim([CLAIM])
    assert claimed(world.ledger).fence == 1


def test_each_claim_of_a_batch_is_answered_for_itself(world: World) -> None:
    taken = CLAIM._replace(task_id="task-3")
    claimed(world.ledger, taken)
    batch = [CLAIM._replace(task_id=f"task-{number}", nonce=f"{number:032x}") for number in range(6)]
    answers = world.ledger.claim(batch)
    assert [isinstance(answer, Claimed) and answer.granted for answer in answers] == [True, True, True, False, True, True]
    assert [answer.record and answer.record.task_id for answer in answers if isinstance(answer, Claimed)] == [
        claim.task_id for claim in batch
    ]


def test_of_two_claims_of_one_task_in_a_batch_the_first_is_granted(world: World) -> None:
    first, second = world.ledger.claim([CLAIM, rival()])
    assert granted(first) == in_the_way(second)


def test_no_claims_need_no_call(world: World) -> None:
    assert world.ledger.claim([]) == []


def test_a_retry_that_finds_no_record_is_refused_and_creates_none(world: World) -> None:
    lost = CLAIM._replace(attempt=1, must_exist=True)
    assert in_the_way(world.ledger.claim([lost])[0]) is None
    assert world.ledger.read([CLAIM.task_id]) == {}


def test_a_retry_is_granted_at_its_own_attempt_only(world: World) -> None:
    claimed(world.ledger)
    world.ledger.record([retry()])
    waiting = stored(world.ledger)
    for attempt in (0, 2):
        for must_exist in (True, False):
            assert in_the_way(world.ledger.claim([rival(attempt=attempt, must_exist=must_exist)])[0]) == waiting
    held = claimed(world.ledger, rival(attempt=1, must_exist=True))
    assert (held.state, held.attempt, held.fence, held.claims) == (states.RUNNING, 1, 2, 1)


@pytest.mark.parametrize("must_exist", [True, False])
def test_a_claim_that_was_let_go_is_granted_to_the_next_message_of_its_attempt(world: World, must_exist: bool) -> None:
    claimed(world.ledger)
    world.ledger.record([retry(next_attempt=0)])
    held = claimed(world.ledger, rival(must_exist=must_exist))
    assert (held.attempt, held.fence, held.claims) == (0, 2, 1)


@pytest.mark.parametrize("must_exist", [True, False])
def test_the_next_attempt_is_held_by_the_message_that_claimed_it(world: World, must_exist: bool) -> None:
    claimed(world.ledger)
    world.ledger.record([retry()])
    next_one = rival(attempt=1, must_exist=must_exist, expires=NOW + 200.5, clock=CLAIM.clock + 9, name="shop.sum", owner="worker.2")
    held = claimed(world.ledger, next_one)
    assert (held.message_id, held.nonce, held.expires) == ("message-2", "b" * 32, NOW + 200.5)
    assert (held.clock, held.name, held.owner) == (CLAIM.clock + 9, "shop.sum", "worker.2")
    assert held == stored(world.ledger)


@pytest.mark.parametrize("state", sorted(states.TERMINAL))
def test_a_task_that_ended_is_never_granted_again(world: World, state: str) -> None:
    claimed(world.ledger)
    world.ledger.record([success(state=state)])
    ended = stored(world.ledger)
    assert in_the_way(world.ledger.claim([rival()])[0]) == ended
    assert in_the_way(world.ledger.steal(rival(), ended)) == ended


def test_an_expired_claim_is_stolen_under_the_next_fence_and_counted(world: World) -> None:
    seen = claimed(world.ledger)
    thief = rival(expires=NOW + 200.5, clock=CLAIM.clock + 9, name="shop.sum", owner="worker.2")
    taken = granted(world.ledger.steal(thief, seen))
    assert (taken.clock, taken.name, taken.owner, taken.state) == (CLAIM.clock + 9, "shop.sum", "worker.2", states.RUNNING)
    assert (taken.fence, taken.claims, taken.nonce, taken.message_id) == (2, 2, "b" * 32, "message-2")
    assert taken.expires == NOW + 200.5
    assert taken == stored(world.ledger)


@pytest.mark.parametrize("change", [{"fence": 2}, {"nonce": "c" * 32}, {"expires": NOW + 60.125}])
def test_a_steal_needs_exactly_what_was_seen(world: World, change: dict[str, Any]) -> None:
    held = claimed(world.ledger)
    assert in_the_way(world.ledger.steal(rival(), held._replace(**change))) == held


def test_a_claim_of_another_attempt_is_never_stolen(world: World) -> None:
    held = claimed(world.ledger)
    assert in_the_way(world.ledger.steal(rival(attempt=1), held)) == held


def test_of_two_thieves_who_saw_the_same_only_the_first_steals(world: World) -> None:
    seen = claimed(world.ledger)
    taken = granted(world.ledger.steal(rival(), seen))
    assert in_the_way(world.ledger.steal(rival(nonce="c" * 32), seen)) == taken


def test_an_own_steal_is_recognised_when_its_answer_was_lost(world: World) -> None:
    seen = claimed(world.ledger)
    with world.losing("UpdateItem"):
        world.ledger.steal(rival(), seen)
    taken = granted(world.ledger.steal(rival(), seen))
    assert (taken.fence, taken.claims) == (2, 2)


def test_what_nobody_claimed_cannot_be_stolen(world: World) -> None:
    assert in_the_way(world.ledger.steal(rival(), TaskRecord("task-1", states.RUNNING))) is None


@pytest.mark.parametrize("race", ["claim", "steal"])
def test_of_many_at_once_exactly_one_wins(world: World, race: str) -> None:
    if not world.concurrent:
        pytest.skip("moto is not atomic across threads")
    seen = claimed(world.ledger) if race == "steal" else None
    rivals = [rival(nonce=f"{number:032x}") for number in range(8)]
    with ThreadPoolExecutor(8) as threads:
        if seen is None:
            answers = list(threads.map(lambda claim: world.ledger.claim([claim])[0], rivals))
        else:
            answers = list(threads.map(lambda claim: world.ledger.steal(claim, seen), rivals))
    assert sum(isinstance(answer, Claimed) and answer.granted for answer in answers) == 1


def test_ids_that_look_alike_are_different_tasks(world: World) -> None:
    ids = ["a#b", "a%23b", "a b", "a/b", "ä", "a", "A", "a" * 3000, "a" * 3001, "=a", "~", "\u20ac" * 256]
    answers = world.ledger.claim([CLAIM._replace(task_id=task_id) for task_id in ids])
    assert [granted(answer).task_id for answer in answers] == ids
    assert set(world.ledger.read(ids)) == set(ids)


def test_reading_returns_only_what_exists_however_much_is_asked_for(world: World) -> None:
    ids = [f"task-{number}" for number in range(230)]
    for task_id in ids[::23]:
        claimed(world.ledger, CLAIM._replace(task_id=task_id))
    found = world.ledger.read([*ids, *ids])
    assert sorted(found) == sorted(ids[::23])
    assert all(record.task_id == task_id for task_id, record in found.items())
    assert world.ledger.read([]) == {}


LATER = Extension(CLAIM.task_id, CLAIM.nonce, 1, NOW + 90.5)


def test_a_holder_goes_on_holding_what_it_extends(world: World) -> None:
    held = claimed(world.ledger)
    assert granted(world.ledger.extend([LATER])[0]) == held._replace(expires=NOW + 90.5) == stored(world.ledger)
    assert granted(world.ledger.extend([LATER])[0]).expires == NOW + 90.5


def test_an_extension_that_arrives_late_shortens_nothing(world: World) -> None:
    claimed(world.ledger)
    world.ledger.extend([LATER])
    assert granted(world.ledger.extend([LATER._replace(expires=NOW + 70)])[0]).expires == NOW + 90.5
    assert stored(world.ledger).expires == NOW + 90.5


def test_an_extension_whose_answer_was_lost_is_recognised(world: World) -> None:
    claimed(world.ledger)
    with world.losing("UpdateItem"):
        world.ledger.extend([LATER])
    assert granted(world.ledger.extend([LATER])[0]).expires == NOW + 90.5


@pytest.mark.parametrize("change", [{"nonce": "b" * 32}, {"fence": 2}, {"fence": 0}, {"task_id": "task-2"}])
def test_what_somebody_else_holds_or_nobody_is_not_extended(world: World, change: dict[str, Any]) -> None:
    held = claimed(world.ledger)
    assert in_the_way(world.ledger.extend([LATER._replace(**change)])[0]) == (None if "task_id" in change else held)
    assert stored(world.ledger) == held
    assert world.ledger.read(["task-2"]) == {}


def test_what_was_stolen_or_has_ended_is_not_extended(world: World) -> None:
    held = claimed(world.ledger)
    stolen = granted(world.ledger.steal(rival(expires=NOW + 200), held))
    assert in_the_way(world.ledger.extend([LATER])[0]) == stolen
    world.ledger.record([success(rival(), 2)])
    assert not world.ledger.extend([Extension(CLAIM.task_id, "b" * 32, 2, NOW + 900)])[0].granted  # type: ignore[union-attr]
    assert stored(world.ledger).state == states.SUCCESS


def test_who_was_extended_is_not_stolen_from(world: World) -> None:
    held = claimed(world.ledger)
    extended = granted(world.ledger.extend([LATER])[0])
    assert in_the_way(world.ledger.steal(rival(), held)) == extended


def test_each_extension_of_a_batch_is_answered_for_itself(world: World) -> None:
    claimed(world.ledger)
    answers = world.ledger.extend([LATER._replace(task_id="task-9"), LATER])
    assert [isinstance(answer, Claimed) and answer.granted for answer in answers] == [False, True]
    assert world.ledger.extend([]) == []


def test_a_message_with_a_fresh_id_learns_that_its_link_was_claimed_inline(world: World) -> None:
    command = Command("message-2", CLAIM.task_id, CLAIM.name, "worker", NOW, CLAIM.clock, place=Place("chain", "0.1", "plan"))
    inline = CLAIM._replace(message_id=inline_id(command))
    held = claimed(world.ledger, inline)
    assert held.message_id == inline_id(command)
    world.ledger.record([success(inline)])
    found = in_the_way(world.ledger.claim([rival()])[0])
    assert found is not None
    assert decide(rival(), found, NOW, 5, inline_id(command)).action is Action.FOLLOW_AGAIN
    assert decide(rival(), found, NOW, 5).action is Action.ACKNOWLEDGE


def test_a_retry_that_was_recorded_inline_is_published_again_by_each_message_of_its_link(world: World) -> None:
    command = Command("message-2", CLAIM.task_id, CLAIM.name, "worker", NOW, CLAIM.clock, place=Place("chain", "0.1", "plan"))
    inline = CLAIM._replace(message_id=inline_id(command))
    claimed(world.ledger, inline)
    world.ledger.record([retry(inline)])
    found = in_the_way(world.ledger.claim([rival()])[0])
    assert found is not None
    assert decide(rival(), found, NOW, 5, inline_id(command)).action is Action.RETRY_AGAIN
    again = rival(attempt=1, message_id="message-3", must_exist=True)
    assert claimed(world.ledger, again).message_id == "message-3", "the retry has a message of its own"
