"""What is recorded of a run: the outcome field by field, for each way in which a task is delivered and each way in which it ends."""

from typing import Any

import pytest

from sedano.model import states
from sedano.model.ledger.records import ErrorRecord, Outcome, TaskRecord
from sedano.model.messages.message import JoinMember, Place
from sedano.model.retry import MAX_EXECUTIONS, Retry
from tests.unit.engine.gated import job
from tests.unit.engine.test_judging import ALWAYS, ERROR, RECORD, Stage, draft, placed, ran


def outcome(one: Any, record: TaskRecord | None = None, **run: Any) -> Outcome | None:
    """The outcome of a run that ended at 2.0."""
    return Stage().judging.judge(ran(one, record=record, **run)).outcome


@pytest.mark.parametrize("delivery", ["at_least_once", "record_once"])
@pytest.mark.parametrize(("run", "ends"), [({"value": 1}, True), ({"error": ERROR}, False)])
def test_without_a_claim_only_the_end_of_a_task_that_keeps_one_is_recorded(delivery: Any, run: Any, ends: bool) -> None:
    one = job("a", delivery=delivery, retry=ALWAYS)
    found = outcome(one._replace(mode=delivery), **run)
    assert (found is not None) == (ends and delivery == "record_once")
    if found is not None:
        assert (found.fence, found.state, found.message_id, found.attempt) == (0, states.SUCCESS, "a", 0)
        assert found.nonce


def test_a_retry_says_which_attempt_is_next_and_when_and_an_end_does_not() -> None:
    one = placed(job("a", retry=Retry(max_retries=9, interval_start=7, jitter=False)), attempt=2)
    again, end = outcome(one, RECORD, error=ERROR), outcome(one, RECORD, value=1)
    assert again is not None
    assert end is not None
    assert (again.state, again.attempt, again.next_attempt, again.not_before > 2.0 + 6.9) == (states.RETRY, 2, 3, True)
    assert (end.state, end.next_attempt, end.not_before, end.at) == (states.SUCCESS, 0, 0.0, 2.0)
    assert (again.nonce, again.fence) == (RECORD.nonce, RECORD.fence)


def test_the_call_is_kept_of_a_task_that_ended_without_success_and_of_no_other() -> None:
    calls = [
        outcome(job("a", retry=policy, args=(7,)), RECORD, **run)
        for policy, run in ((ALWAYS, {"value": 1}), (ALWAYS, {"error": ERROR}), (Retry(max_retries=0), {"error": ERROR}))
    ]
    assert [one is not None and one.call is not None for one in calls] == [False, False, True]


@pytest.mark.parametrize(("member", "place"), [(JoinMember("j", 0, 2), None), (None, Place("c", "0", "p")), (None, None)])
def test_a_result_that_others_need_is_kept_though_the_task_ignores_it(member: Any, place: Any) -> None:
    one = placed(job("a", ignore_result=True), member=member, place=place)
    found = Stage().judging.judge(ran(one, record=RECORD, result="7")).outcome
    assert found is not None
    assert found.result == ("7" if member or place else None)


@pytest.mark.parametrize(("attempt", "again"), [(MAX_EXECUTIONS - 2, True), (MAX_EXECUTIONS - 1, False), (MAX_EXECUTIONS, True)])
def test_after_the_most_executions_only_the_replacement_of_a_task_without_that_limit_is_tried_again(attempt: int, again: bool) -> None:
    stage, one = Stage(before=attempt), placed(job("a", retry=Retry(max_retries=1)), attempt=attempt)
    assert (stage.judging.judge(ran(one, error=ERROR, record=RECORD)).verdict.state == states.RETRY) == again


def test_what_a_task_published_though_it_is_tried_again_is_not_sent() -> None:
    found = Stage().judging.judge(ran(job("a", retry=ALWAYS), draft(), record=RECORD, error=ErrorRecord("ValueError", "no")))
    assert (found.verdict.state, found.posted) == (states.RETRY, ())
    assert found.outcome is not None
    assert found.outcome.outbox == ()
