"""The claim step, where the record in the way is of another task, of other arguments, or of an end that another message brought."""

from typing import Any

import pytest

from sedano.engine.batch import Job
from sedano.model import refusals, states
from sedano.model.ledger import dedup_keys
from sedano.model.ledger.records import TERMINATE
from sedano.model.messages.lineage import begun_id
from sedano.model.messages.message import Place
from tests.unit.engine.gated import advance, asked, job
from tests.unit.engine.test_claiming import Stage, ordered

PLAN = f"blob:{'0' * 64}:9"


def parked(stage: Stage) -> list[tuple[str, str, str, str]]:
    """What is set aside, and why."""
    return [(one.delivery.message_id, *one[1:]) for one in stage.batch.parkings]


def keyed(*args: Any) -> Job:
    """A message about the task `a` with these arguments, under a deduplication key."""
    one = job("a", args=args)
    return one._replace(command=one.command._replace(id=dedup_keys.message_id(dedup_keys.payload("a", args, {}), "nonce")))


def test_a_message_under_an_id_that_another_task_has_used_is_set_aside_and_named() -> None:
    stage = Stage()
    stage.end(stage.of_another(name="other"))
    assert stage.claim(job("a")) == []
    assert parked(stage) == [("a", refusals.TAKEN, "taskid", "the task other has run under this id; give this task its own id")]
    assert (stage.batch.counts, stage.follows.calls) == ({}, [])


def test_a_keyed_message_of_other_arguments_is_no_copy() -> None:
    stage = Stage()
    first, second = keyed(1), keyed(2)
    assert stage.claim(first) == ["a"]
    (held,) = stage.held
    assert held.record is not None
    stage.end(held.record)
    assert stage.claim(second) == []
    assert parked(stage) == [
        ("a", refusals.TAKEN, "taskid", "by the same dedup_key, other arguments have run under this id; give this task its own id")
    ]


def test_another_canvas_under_the_same_id_is_no_copy() -> None:
    stage = Stage()
    stage.end(stage.of_another(message_id=begun_id("a", "1", PLAN)))
    one = job("a")
    place = Place("a", "0", PLAN)
    one = one._replace(command=one.command._replace(id=begun_id("a", "0", PLAN), place=place))
    assert stage.claim(one) == []
    assert parked(stage) == [
        (
            "a", refusals.TAKEN, "taskid",
            "a canvas with the same beginning and another continuation has run under this id; give this task its own id",
        )
    ]


@pytest.mark.parametrize("expired", [False, True])
def test_a_claim_of_other_arguments_is_waited_for_and_never_taken_over(expired: bool) -> None:
    stage = Stage()
    assert stage.claim(keyed(1)) == ["a"]
    advance(stage.ports, 100.0 if expired else 0.0)
    assert stage.claim(keyed(2)) == []
    assert [code for _, code, _, _ in parked(stage)] == ([refusals.TAKEN] if expired else [])
    assert len(stage.batch.given_back) == (0 if expired else 1)
    assert stage.cluster.lost == []


def test_an_expired_claim_that_was_marked_as_revoked_is_ended_by_any_message_of_its_task() -> None:
    stage = Stage()
    assert stage.claim(keyed(1)) == ["a"]
    stage.ports.ledger.ask("a", TERMINATE)
    advance(stage.ports, 100.0)
    assert stage.claim(keyed(2)) == ["a"]
    (held,) = stage.held
    assert held.stillborn is not None
    assert held.stillborn.state == states.REVOKED


def test_a_copy_of_a_task_that_another_message_ended_as_revoked_is_only_a_copy() -> None:
    stage = Stage()
    stage.end(stage.of_another(), states.REVOKED)
    assert stage.claim(job("a")) == []
    assert stage.batch.counts == {("Duplicates", "only"): 1}
    assert stage.follows.calls == []


def test_a_message_in_order_is_asked_for_once_where_its_try_is_that_of_the_record() -> None:
    stage = Stage()
    record = stage.of_another(message_id="a")
    stage.ports.ledger.ask("a", TERMINATE)
    stage.end(record, states.RETRY, next_attempt=0)
    before = len(asked(stage.ports.ledger, "claim"))
    assert stage.claim(ordered("a")) == []
    assert len(asked(stage.ports.ledger, "claim")) == before + 1
    assert stage.follows.calls == [("follow_again", "a", states.REVOKED)]


def test_a_message_in_order_whose_last_try_has_ended_follows_as_itself() -> None:
    stage = Stage()
    stage.end(stage.of_another(message_id="a"), states.RETRY, next_attempt=1)
    stage.end(stage.of_another(message_id="a", attempt=1))
    followed: list[Job] = []
    stage.follows.follow_again = lambda one, *_: followed.append(one)  # type: ignore[attr-defined]
    assert stage.claim(ordered("a")) == []
    assert [one.command for one in followed] == [ordered("a").command]
