"""How a task ended: recorded once, by whoever holds it, and never changed after (PROTOCOLS §3)."""

from typing import Any

import pytest

from sedano.errors import TooLarge
from sedano.model import states
from sedano.model.ledger.records import ErrorRecord, Outcome, Posted
from sedano.model.messages.message import BlobRef, Section
from tests.conformance.tasks import CLAIM, NOW, accepted, claimed, granted, in_the_way, retry, rival, stored, success
from tests.conformance.worlds import World

DIGEST = "0f" * 32


def test_an_outcome_is_recorded_by_the_holder_and_read_back(world: World) -> None:
    held = claimed(world.ledger)
    assert accepted(world.ledger.record([success(name="shop.sum")])[0])
    assert stored(world.ledger) == held._replace(state=states.SUCCESS, clock=CLAIM.clock + 7, result="5", name="shop.sum")


def test_everything_an_outcome_says_is_read_back(world: World) -> None:
    claimed(world.ledger)
    outcome = success(
        state=states.FAILURE,
        result=None,
        result_ref=BlobRef(DIGEST, 123_456),
        error=ErrorRecord("shop.Sold out", 'said "no" \ud800 \x00 ✓', "Traceback…\n  line 1", raised="shop:Sold", arguments='["no"]'),
        outbox=(Posted("commands:default", '{"a":"\\u00e9"}'), Posted("events", "{}", 900, "tenant-7")),
        outbox_ref=BlobRef(DIGEST, 0),
        not_before=NOW + 1.25,
        section=Section(2, 3),
        name="shop.sum",
        call=Posted("commands:mail.fifo", '{"data":"\\u00e9"}', 0, "tenant-7", "order-1"),
    )
    world.ledger.record([outcome])
    record = stored(world.ledger)
    assert (record.result, record.result_ref, record.error) == (None, outcome.result_ref, outcome.error)
    assert (record.outbox, record.outbox_ref) == (outcome.outbox, outcome.outbox_ref)
    assert record.call == outcome.call
    assert (record.not_before, record.section, record.name) == (NOW + 1.25, Section(2, 3), "shop.sum")


def test_recording_again_is_the_same_record(world: World) -> None:
    claimed(world.ledger)
    assert [accepted(answer) for answer in world.ledger.record([success(), success()])] == [True, True]


@pytest.mark.parametrize("outcome", [success(), retry(), success(state=states.FAILURE)], ids=lambda outcome: outcome.state)
def test_an_own_record_is_recognised_when_its_answer_was_lost(world: World, outcome: Outcome) -> None:
    claimed(world.ledger)
    with world.losing("UpdateItem"):
        world.ledger.record([outcome])
    assert accepted(world.ledger.record([outcome])[0])


def test_an_old_fence_cannot_record(world: World) -> None:
    seen = claimed(world.ledger)
    taken = granted(world.ledger.steal(rival(), seen))
    assert in_the_way(world.ledger.record([success()])[0]) == taken
    assert stored(world.ledger) == taken


def test_a_zombie_cannot_record_after_the_thief_has(world: World) -> None:
    world.ledger.steal(rival(), claimed(world.ledger))
    assert accepted(world.ledger.record([success(rival(), 2, result="6")])[0])
    assert in_the_way(world.ledger.record([success()])[0]) == stored(world.ledger)
    assert stored(world.ledger).result == "6"


@pytest.mark.parametrize("change", [{"nonce": "c" * 32}, {"fence": 2}])
def test_nobody_records_without_the_holders_nonce_and_fence(world: World, change: dict[str, Any]) -> None:
    held = claimed(world.ledger)
    assert in_the_way(world.ledger.record([success(**change)])[0]) == held


def test_nobody_records_what_was_never_claimed(world: World) -> None:
    assert in_the_way(world.ledger.record([success()])[0]) is None
    assert world.ledger.read(["task-1"]) == {}


def test_a_late_record_is_good_while_nobody_stole(world: World) -> None:
    claimed(world.ledger, CLAIM._replace(expires=NOW - 1000))
    assert accepted(world.ledger.record([success()])[0])


@pytest.mark.parametrize("state", sorted(states.TERMINAL))
def test_a_terminal_record_never_changes(world: World, state: str) -> None:
    claimed(world.ledger)
    world.ledger.record([success(state=state)])
    ended = stored(world.ledger)
    others = [success(state=other, result="9") for other in sorted(states.TERMINAL - {state})]
    for answer in world.ledger.record([*others, retry()]):
        assert in_the_way(answer) == ended
    assert stored(world.ledger) == ended


def test_a_retry_leaves_what_the_follow_up_rule_needs(world: World) -> None:
    claimed(world.ledger)
    outbox = (Posted("events", "{}"),)
    world.ledger.record([retry(section=Section(1, 2), outbox=outbox, error=ErrorRecord("E", "m"))])
    record = stored(world.ledger)
    assert (record.state, record.attempt, record.message_id, record.nonce) == (states.RETRY, 1, "message-1", CLAIM.nonce)
    assert (record.not_before, record.section, record.outbox) == (NOW + 8.5, Section(1, 2), outbox)


def test_the_record_of_an_attempt_replaces_what_the_one_before_left(world: World) -> None:
    claimed(world.ledger)
    world.ledger.record([retry(section=Section(1, 2), outbox=(Posted("events", "{}"),), error=ErrorRecord("E", "m"))])
    again = rival(attempt=1, must_exist=True)
    world.ledger.record([success(again, claimed(world.ledger, again).fence)])
    record = stored(world.ledger)
    assert (record.state, record.attempt, record.result) == (states.SUCCESS, 1, "5")
    assert (record.error, record.outbox, record.section, record.not_before) == (None, (), None, 0.0)


def test_each_outcome_of_a_batch_is_answered_for_itself(world: World) -> None:
    claims = [CLAIM._replace(task_id=f"task-{number}") for number in range(4)]
    world.ledger.claim(claims[:3])
    outcomes = [success(claim) for claim in claims]
    outcomes[1] = outcomes[1]._replace(fence=9)
    assert [accepted(answer) for answer in world.ledger.record(outcomes)] == [True, False, True, False]


@pytest.mark.parametrize("write", ["record", "keep"])
def test_a_record_beyond_the_items_limit_comes_back_as_a_value_and_spares_its_neighbours(world: World, write: str) -> None:
    claims = [CLAIM._replace(task_id=f"task-{number}") for number in range(4)]
    if write == "record":
        world.ledger.claim(claims)
    outcomes = [
        success(claims[0], result="1" * 400_001),
        success(claims[1], result="1" * 400_000),
        success(claims[2], result=None, error=ErrorRecord("E", "é" * 70_000)),
        success(claims[3]),
    ]
    big, fits, escaped, small = (world.ledger.record if write == "record" else world.ledger.keep)(outcomes)
    assert isinstance(big, TooLarge)
    assert "400001 bytes" in str(big)
    assert isinstance(escaped, TooLarge)
    assert accepted(fits)
    assert accepted(small)


def test_keeping_records_an_end_without_a_claim(world: World) -> None:
    assert accepted(world.ledger.keep([success(fence=0)])[0])
    record = stored(world.ledger)
    assert (record.state, record.result, record.message_id, record.fence) == (states.SUCCESS, "5", "message-1", 0)
    assert (record.name, record.clock, record.nonce, record.attempt) == ("shop.add", CLAIM.clock + 7, CLAIM.nonce, 0)


def test_keeping_keeps_why_a_task_ended(world: World) -> None:
    error = ErrorRecord("E", "m", "Traceback…")
    world.ledger.keep([success(fence=0, state=states.FAILURE, result=None, error=error)])
    assert stored(world.ledger).error == error


def test_keeping_never_overwrites_an_end(world: World) -> None:
    world.ledger.keep([success(fence=0)])
    first = stored(world.ledger)
    assert in_the_way(world.ledger.keep([success(rival(), 0, result="6")])[0]) == first
    assert stored(world.ledger) == first


def test_keeping_leaves_a_running_claim_alone(world: World) -> None:
    held = claimed(world.ledger)
    assert in_the_way(world.ledger.keep([success(rival(), 0)])[0]) == held


def test_an_own_kept_end_is_recognised_when_its_answer_was_lost(world: World) -> None:
    with world.losing("UpdateItem"):
        world.ledger.keep([success(fence=0)])
    assert accepted(world.ledger.keep([success(fence=0)])[0])


def test_a_retry_that_expired_can_be_kept_as_revoked_at_its_own_attempt_only(world: World) -> None:
    claimed(world.ledger)
    world.ledger.record([retry()])
    revoked = success(rival(), 0, state=states.REVOKED, result=None)
    assert in_the_way(world.ledger.keep([revoked])[0]) == stored(world.ledger)
    assert accepted(world.ledger.keep([revoked._replace(attempt=1)])[0])
    kept = stored(world.ledger)
    assert (kept.state, kept.fence, kept.claims, kept.expires) == (states.REVOKED, 1, 1, NOW + 60.124), "the token of the attempt stays"


def test_what_nobody_claimed_cannot_be_recorded(world: World) -> None:
    assert in_the_way(world.ledger.record([success()])[0]) is None
    assert world.ledger.read(["task-1"]) == {}


def test_forgetting_drops_what_a_task_said_and_not_that_it_ended(world: World) -> None:
    held = claimed(world.ledger)
    world.ledger.record([success(outbox=(Posted("events", "{}"),), result_ref=BlobRef(DIGEST, 1))])
    world.ledger.forget(["task-1", "task-unknown"])
    assert stored(world.ledger) == held._replace(state=states.SUCCESS, clock=CLAIM.clock + 7, forgotten=True)
    assert world.ledger.read(["task-unknown"]) == {}


@pytest.mark.parametrize("state", sorted(states.TERMINAL))
def test_whatever_a_task_ended_as_is_forgotten(world: World, state: str) -> None:
    held = claimed(world.ledger)
    world.ledger.record([success(state=state, error=ErrorRecord("E", "m"))])
    world.ledger.forget(["task-1"])
    assert stored(world.ledger) == held._replace(state=state, clock=CLAIM.clock + 7, forgotten=True)


def test_forgetting_leaves_a_task_that_has_not_ended_alone(world: World) -> None:
    claimed(world.ledger)
    world.ledger.record([retry(error=ErrorRecord("E", "m"))])
    waiting = stored(world.ledger)
    world.ledger.forget(["task-1"])
    assert stored(world.ledger) == waiting


@pytest.mark.parametrize("state", sorted(states.TERMINAL))
def test_the_message_that_ended_the_task_notes_that_its_follow_ups_were_sent(world: World, state: str) -> None:
    claimed(world.ledger)
    world.ledger.record([success(state=state)])
    ended = stored(world.ledger)
    assert not ended.followed
    world.ledger.follow(CLAIM.task_id, CLAIM.message_id)
    world.ledger.follow(CLAIM.task_id, CLAIM.message_id)
    assert stored(world.ledger) == ended._replace(followed=True)


def test_another_message_notes_nothing_of_follow_ups(world: World) -> None:
    world.ledger.follow(CLAIM.task_id, CLAIM.message_id)
    assert world.ledger.read([CLAIM.task_id]) == {}
    claimed(world.ledger)
    world.ledger.record([success()])
    world.ledger.follow(CLAIM.task_id, "another")
    assert not stored(world.ledger).followed


def test_before_the_end_no_follow_ups_are_noted(world: World) -> None:
    claimed(world.ledger)
    world.ledger.follow(CLAIM.task_id, CLAIM.message_id)
    assert not stored(world.ledger).followed
    world.ledger.record([retry()])
    world.ledger.follow(CLAIM.task_id, CLAIM.message_id)
    assert not stored(world.ledger).followed
