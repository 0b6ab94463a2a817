"""The index of failures: what failed on a day is found by one question, the latest first, and nothing else is in it."""

from collections.abc import Callable
from typing import Any

import pytest

from sedano.aws.failures import FAILURES
from sedano.errors import EffectRefused
from sedano.memory import MemoryLedger, VirtualClock
from sedano.model import states
from sedano.model.ledger.failures import MOST_KIND, MOST_PLACE, SHARDS, FailedTask, is_recovered, shard_of
from sedano.model.ledger.records import RECORD_LIFETIME_S, Claim, ErrorRecord, Outcome, RecordAnswer, copy_of
from sedano.model.retry import MAX_EXECUTIONS
from sedano.ports import Ledger
from tests.conformance.tasks import CLAIM, NOW, accepted, claimed, granted, in_the_way, retry, rival, stored, success
from tests.conformance.worlds import World, over_aws
from tests.plugins.resources import Resources

TODAY, YESTERDAY, DAY = "2026-01-01", "2025-12-31", 86_400
TRACEBACK = """Traceback (most recent call last):
  File "/app/shop/tasks.py", line 12, in convert
    return rate(currency)
  File "/usr/lib/python3.12/json/decoder.py", line 9, in decode
    raise error
"""
ERROR = ErrorRecord("KeyError", "'CHF'", TRACEBACK)
ENTRY = FailedTask("task-1", states.FAILURE, "shop.sum", 0, NOW + 1.25, "KeyError", "tasks.py:12 in convert")
Write = Callable[[Ledger, Outcome], RecordAnswer]


def failure(claim: Claim = CLAIM, fence: int = 1, **changes: Any) -> Outcome:
    """The outcome FAILURE of *claim*."""
    return success(claim, fence, **{"state": states.FAILURE, "error": ERROR, "name": "shop.sum", "at": NOW + 1.25, **changes})


def recorded(ledger: Ledger, outcome: Outcome) -> RecordAnswer:
    """Claim, and record *outcome*."""
    fence = claimed(ledger, CLAIM._replace(task_id=outcome.task_id, attempt=outcome.attempt)).fence
    return ledger.record([outcome._replace(fence=fence)])[0]


def kept(ledger: Ledger, outcome: Outcome) -> RecordAnswer:
    """Record *outcome* without a claim."""
    return ledger.keep([outcome])[0]


WAYS = pytest.mark.parametrize("write", [recorded, kept])


def ids(world: World, day: str = TODAY, most: int = 100) -> list[str]:
    """The failed tasks of *day*."""
    return ids_of(world.ledger, day, most)


def ids_of(ledger: Ledger, day: str = TODAY, most: int = 100) -> list[str]:
    """The failed tasks of *day* in a ledger."""
    found = ledger.failures(day, most)
    assert found is not None
    return [one.task_id for one in found]


@WAYS
@pytest.mark.parametrize("state", sorted(states.FAILED))
def test_a_failure_is_found_with_its_error_and_its_place(world: World, write: Write, state: states.TaskState) -> None:
    assert accepted(write(world.ledger, failure(state=state, attempt=2)))
    assert world.ledger.failures(TODAY, 10) == [ENTRY._replace(state=state, attempt=2)]


@WAYS
@pytest.mark.parametrize("outcome", [
    *(failure(state=state) for state in sorted(states.TERMINAL - states.FAILED)),
    failure(error=ERROR._replace(cause="task-0")), copy_of(failure(task_id="task-0"), "task-1"),
], ids=["expired", "revoked", "success", "of another task", "copy"])  # fmt: skip
def test_what_did_not_fail_here_is_not_found(world: World, write: Write, outcome: Outcome) -> None:
    if write is recorded:
        held = claimed(world.ledger, CLAIM._replace(nonce=outcome.nonce))
        answer = world.ledger.record([outcome._replace(fence=held.fence)])[0]
    else:
        answer = kept(world.ledger, outcome)
    assert accepted(answer)
    assert stored(world.ledger).error == outcome.error
    assert ids(world) == []


def test_what_is_claimed_reserved_retried_or_revoked_is_not_found(world: World) -> None:
    claimed(world.ledger)
    world.ledger.record([retry(error=ERROR)])
    world.ledger.reserve("task-2", "m", NOW, NOW + 60)
    world.ledger.revoke("task-3", 1, NOW)
    world.ledger.claim([CLAIM._replace(task_id="task-4")])
    assert ids(world) == []


def test_a_failure_whose_effects_are_refused_leaves_the_index_of_a_ledger_in_memory_as_it_was() -> None:
    ledger = MemoryLedger(VirtualClock(NOW))
    refused = EffectRefused(0, "orders", "order-7", "exists")
    assert ledger.record_with(failure(fence=0), False, lambda: refused) is refused
    assert ids_of(ledger) == []
    fails_again(ledger, MAX_EXECUTIONS)
    fence = claimed(ledger, CLAIM._replace(attempt=MAX_EXECUTIONS)).fence
    ended = failure(CLAIM._replace(attempt=MAX_EXECUTIONS), fence, error=ErrorRecord("ValueError", "no", ""))
    assert ledger.record_with(ended, True, lambda: refused) is refused
    assert [(one.state, one.error) for one in ledger.failures(TODAY, 10)] == [(states.RUNNING, "KeyError")]


def fails_again(ledger: Ledger, attempt: int, task_id: str = "task-1", at: float = NOW + 1.25) -> None:
    """Record a failure in the execution before *attempt*, which is retried."""
    claim = CLAIM._replace(task_id=task_id, attempt=attempt - 1)
    fence = claimed(ledger, claim).fence
    again = retry(claim, fence, error=ERROR, name="shop.sum", at=at, next_attempt=attempt)
    assert accepted(ledger.record([again])[0])


def ends_without_a_failure(ledger: Ledger, task_id: str, number: int) -> None:
    """End a task that failed often, in one of the ways in which it leaves the index."""
    claim = CLAIM._replace(task_id=task_id, attempt=MAX_EXECUTIONS)
    if number % 4 == 0:
        assert ledger.revoke(task_id, 9, NOW + 3) is None
    elif number % 4 == 1:
        assert accepted(kept(ledger, success(claim, 0, state=states.EXPIRED, result=None)))
    else:
        state = states.SUCCESS if number % 4 == 2 else states.REVOKED
        assert accepted(ledger.record([success(claim, claimed(ledger, claim).fence, state=state)])[0])


def test_a_task_that_failed_in_many_executions_is_found_while_it_is_tried_again(world: World) -> None:
    fails_again(world.ledger, MAX_EXECUTIONS)
    found = ENTRY._replace(state=states.RETRY, attempt=MAX_EXECUTIONS)
    assert world.ledger.failures(TODAY, 10) == [found]
    claimed(world.ledger, CLAIM._replace(attempt=MAX_EXECUTIONS, name="shop.total"))
    assert world.ledger.failures(TODAY, 10) == [found._replace(state=states.RUNNING, name="shop.total")]


def test_a_task_in_an_early_attempt_is_not_found(world: World) -> None:
    fails_again(world.ledger, MAX_EXECUTIONS - 1)
    assert ids(world) == []


@pytest.mark.parametrize("is_revoked", [False, True])
def test_a_task_that_failed_often_and_then_succeeded_or_was_revoked_is_not_found(world: World, is_revoked: bool) -> None:
    fails_again(world.ledger, MAX_EXECUTIONS)
    if is_revoked:
        assert world.ledger.revoke("task-1", 9, NOW + 2) is None
    else:
        claim = CLAIM._replace(attempt=MAX_EXECUTIONS)
        assert accepted(world.ledger.record([success(claim, claimed(world.ledger, claim).fence)])[0])
    assert ids(world) == []


def test_an_error_whose_cause_is_the_task_itself_is_its_own(world: World) -> None:
    kept(world.ledger, failure(error=ERROR._replace(cause="task-1")))
    assert ids(world) == ["task-1"]


def test_a_failure_is_recorded_whole(world: World) -> None:
    held = claimed(world.ledger)
    outcome = failure(attempt=3, result="7")
    world.ledger.record([outcome])
    assert stored(world.ledger) == held._replace(
        state=states.FAILURE, attempt=3, clock=outcome.clock, name="shop.sum", result="7", error=ERROR
    )


def test_a_failure_is_kept_whole(world: World) -> None:
    world.ledger.reserve("task-1", "m", NOW, NOW + 60)
    outcome = failure(rival(), attempt=3, result="7")
    assert accepted(world.ledger.keep([outcome])[0])
    record = stored(world.ledger)
    assert (record.state, record.attempt, record.clock, record.name) == (states.FAILURE, 3, outcome.clock, "shop.sum")
    assert (record.result, record.error, record.nonce, record.message_id) == ("7", ERROR, outcome.nonce, "message-2")


@pytest.mark.parametrize("change", [{"nonce": "c" * 32}, {"fence": 2}])
def test_no_failure_is_recorded_without_the_holders_nonce_and_fence(world: World, change: dict[str, Any]) -> None:
    held = claimed(world.ledger)
    assert in_the_way(world.ledger.record([failure(**change)])[0]) == held
    assert ids(world) == []


@WAYS
def test_a_failure_never_replaces_an_end(world: World, write: Write) -> None:
    held = claimed(world.ledger)
    world.ledger.record([success()])
    late = failure(rival(), 0) if write is kept else failure(fence=held.fence)
    assert in_the_way((world.ledger.keep if write is kept else world.ledger.record)([late])[0]) == stored(world.ledger)
    assert (stored(world.ledger).state, ids(world)) == (states.SUCCESS, [])


def test_a_failure_is_not_kept_over_a_running_claim(world: World) -> None:
    held = claimed(world.ledger)
    assert in_the_way(world.ledger.keep([failure(rival(), 0)])[0]) == held
    assert ids(world) == []


def test_a_waiting_retry_fails_at_its_own_attempt_only(world: World) -> None:
    claimed(world.ledger)
    world.ledger.record([retry()])
    poison = failure(rival(), 0, state=states.POISON)
    assert in_the_way(world.ledger.keep([poison])[0]) == stored(world.ledger)
    assert accepted(world.ledger.keep([poison._replace(attempt=1)])[0])
    assert (stored(world.ledger).fence, ids(world)) == (1, ["task-1"])


@pytest.mark.parametrize("write", ["record", "keep"])
def test_an_own_failure_is_recognised_when_its_answer_was_lost(world: World, write: str) -> None:
    outcome = failure(fence=claimed(world.ledger).fence if write == "record" else 0)
    with world.losing("UpdateItem"):
        getattr(world.ledger, write)([outcome])
    assert accepted(getattr(world.ledger, write)([outcome])[0])
    assert ids(world) == ["task-1"]


def test_the_zombie_of_a_stolen_claim_leaves_no_entry(world: World) -> None:
    seen = claimed(world.ledger)
    granted(world.ledger.steal(rival(), seen))
    assert not accepted(world.ledger.record([failure()])[0])
    assert accepted(world.ledger.record([success(rival(), 2)])[0])
    assert ids(world) == []


def test_failures_are_listed_by_their_day_the_latest_first_and_no_more_than_asked_for(world: World) -> None:
    midnight = NOW + DAY
    moments = {"a": NOW, "b": NOW + 7, "c": midnight - 0.001, "d": midnight, "e": NOW - 0.001, "f": midnight - 0.0001}
    for task_id, at in moments.items():
        kept(world.ledger, failure(task_id=task_id, at=at))
    assert ids(world) == ["c", "b", "a"]
    assert ids(world, most=2) == ["c", "b"]
    assert (ids(world, YESTERDAY), sorted(ids(world, "2026-01-02")), ids(world, "2026-01-03")) == (["e"], ["d", "f"], [])


def test_more_failures_than_one_answer_holds_are_all_found(world: World) -> None:
    known = [f"task-{number:03}" for number in range(60)]
    assert {shard_of(task_id) for task_id in known} == set(range(SHARDS))
    world.ledger.keep([failure(task_id=task_id, at=NOW + number) for number, task_id in enumerate(known)])
    assert ids(world) == known[::-1]
    assert ids(world, most=45) == known[:14:-1]


def test_of_one_moment_the_ids_decide(world: World) -> None:
    world.ledger.keep([failure(task_id=task_id) for task_id in ("b", "c", "a")])
    assert ids(world) == ["c", "b", "a"]


def test_a_forgotten_failure_stays_in_the_list_without_its_error(world: World) -> None:
    world.ledger.keep([failure(), failure(task_id="task-2")])
    world.ledger.forget(["task-1", "task-unknown"])
    found = world.ledger.failures(TODAY, 10)
    assert found == [ENTRY._replace(task_id="task-2"), ENTRY._replace(error="", where="")]


def test_a_success_that_is_forgotten_is_not_found(world: World) -> None:
    world.ledger.keep([success()])
    world.ledger.forget(["task-1"])
    assert ids(world) == []


def test_a_failure_without_an_error_has_an_entry_without_one(world: World) -> None:
    kept(world.ledger, failure(error=None))
    assert world.ledger.failures(TODAY, 10) == [ENTRY._replace(error="", where="")]


@pytest.mark.parametrize("task_id", ["é/#%", "x" * 900, "=a"])
def test_the_texts_of_a_task_are_cut_and_made_fit_for_every_store(world: World, task_id: str) -> None:
    error = ErrorRecord("E\ud800" + "x" * 200, "m", TRACEBACK.replace("convert", "ü" * 400))
    kept(world.ledger, failure(task_id=task_id, error=error))
    found = world.ledger.failures(TODAY, 10)
    assert found is not None
    (entry,) = found
    assert entry.task_id == task_id
    assert (entry.error, entry.where) == ("E?" + "x" * (MOST_KIND - 2), ("tasks.py:12 in " + "ü" * 400)[:MOST_PLACE])


def test_a_table_without_the_index_answers_none_and_still_records_failures(resources: Resources) -> None:
    world = over_aws(resources)
    table, client = resources.settings["SEDANO_LEDGER_TABLE"], resources.session.client("dynamodb")
    client.update_table(TableName=table, GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": FAILURES}}])
    assert accepted(world.ledger.keep([failure()])[0])
    assert stored(world.ledger).state == states.FAILURE
    assert world.ledger.failures(TODAY, 10) is None


def test_the_shard_of_a_task_is_the_same_on_every_machine_and_in_every_version() -> None:
    assert [shard_of(f"task-{number}") for number in range(8)] == [3, 3, 3, 0, 0, 2, 1, 0]
    assert shard_of("\ud800") in range(SHARDS)


def test_an_entry_ages_out_with_its_record() -> None:
    clock = VirtualClock(NOW)
    ledger = MemoryLedger(clock)
    kept(ledger, failure())
    clock.advance(RECORD_LIFETIME_S)
    assert (ledger.age_out(), ids_of(ledger)) == ([], ["task-1"])
    clock.advance(2)
    assert (ledger.age_out(), ids_of(ledger)) == (["task-1"], [])


def test_tasks_that_recovered_leave_room_for_those_that_failed(world: World) -> None:
    world.ledger.keep([failure(task_id=f"failed-{number}") for number in range(4)])
    recovered = [f"recovered-{number:02}" for number in range(24)]
    for task_id in recovered:
        fails_again(world.ledger, MAX_EXECUTIONS, task_id, NOW + 2)
    for number, task_id in enumerate(recovered):
        ends_without_a_failure(world.ledger, task_id, number)
    assert ids(world, most=4) == [f"failed-{number}" for number in (3, 2, 1, 0)]


@pytest.mark.parametrize("state", sorted(states.TERMINAL))
@pytest.mark.parametrize(("attempt", "had"), [(MAX_EXECUTIONS - 1, False), (MAX_EXECUTIONS, True), (MAX_EXECUTIONS + 1, True)])
def test_an_end_without_a_failure_takes_a_task_that_may_have_an_entry_out(state: states.TaskState, attempt: int, had: bool) -> None:
    assert is_recovered(success(state=state, attempt=attempt)) == (had and state not in states.FAILED)


def test_a_task_that_is_tried_again_keeps_its_entry() -> None:
    assert not is_recovered(retry(attempt=MAX_EXECUTIONS))
