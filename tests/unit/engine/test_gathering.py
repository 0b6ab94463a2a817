"""The results of a join's members, and what a join keeps for the loss of its plan, alone."""

import json
from typing import Any

import pytest

from sedano.engine.canvas.chord_results import CAUSES, GONE, PAGE, Gathering, HeaderFailed, member_id
from sedano.engine.canvas.launches import LaunchOrigin
from sedano.engine.canvas.lost_pages import MOST_CALLBACKS, UnrunTask, callbacks, kept, lost
from sedano.errors import MessageRefused
from sedano.model import refusals, states
from sedano.model.canvas.continuation import ADDED, PlaceContents
from sedano.model.canvas.join import Join
from sedano.model.ledger.records import Claim, ErrorRecord, Outcome
from sedano.model.messages import codec
from sedano.model.messages.lineage import Lineage, derived_id
from sedano.model.messages.message import LAUNCH, BlobRef, Command, Gather, JoinMember, Place
from tests.unit.engine.gated import asked, world

ERROR = ErrorRecord("ValueError", "no")


class Stage:
    """Members' records in memory."""

    def __init__(self) -> None:
        """Begin with none."""
        self.ports = world(0.5, "ledger")
        self.step = Gathering(self.ports)

    def end(self, number: int, state: Any = states.SUCCESS, join: str = "j", **changes: Any) -> None:
        """Let a member end."""
        task_id = member_id(join, number)
        (answer,) = self.ports.ledger.claim([Claim(task_id, 0, "m", "n", self.ports.clock.now() + 9, 1, "only")])
        assert answer.record is not None
        plain = Outcome(task_id, state, "n", answer.record.fence, "m", 0, 100 - number, "only", 1.0, result=str(number))
        self.ports.ledger.record([plain._replace(**changes)])

    def launched(self, size: int) -> None:
        """Open the join."""
        self.ports.ledger.open_join(Join("j", size, "{}", "default"))


def test_results_are_in_the_order_of_the_header_with_those_that_a_member_added_after_them() -> None:
    stage = Stage()
    stage.end(1)
    stage.end(0, added=2)
    for number in (0, 1):
        stage.end(number, join=derived_id(member_id("j", 0), ADDED), result=str(7 + number))
    assert stage.step.results(Gather("j", 2)) == [0, 1, 7, 8]
    assert stage.step.failure(Gather("j", 2)) is None


def test_the_member_that_failed_first_is_the_cause_and_the_others_are_named() -> None:
    stage = Stage()
    for number in range(3):
        stage.end(number, states.FAILURE if number else states.SUCCESS, error=ERROR if number else None)
    with pytest.raises(HeaderFailed) as failed:
        stage.step.results(Gather("j", 3))
    error = failed.value.error
    assert str(failed.value) == "no"
    assert (error.type_name, error.cause) == ("ValueError", member_id("j", 2)), "it has the earlier clock"
    assert error.notes.startswith("2 of 3 members of the header did not succeed: member 1 (only, ")
    assert "more" not in error.notes
    assert stage.step.failure(Gather("j", 3)) == error
    assert stage.step.failure(Gather("j", 3, outcomes=True)) is None
    assert [one["state"] for one in stage.step.results(Gather("j", 3, outcomes=True))] == ["SUCCESS", "FAILURE", "FAILURE"]


@pytest.mark.parametrize(("failures", "more"), [(CAUSES, ""), (CAUSES + 1, "; and 1 more")])
def test_only_so_many_causes_are_named(failures: int, more: str) -> None:
    stage = Stage()
    for number in range(failures):
        stage.end(number, states.FAILURE, error=ERROR)
    found = stage.step.failure(Gather("j", failures))
    assert found is not None
    assert found.notes.endswith(f"ValueError: no{more}")
    assert found.notes.count("ValueError") == CAUSES


def test_a_member_whose_record_is_gone_has_failed() -> None:
    stage = Stage()
    stage.end(0)
    found = stage.step.failure(Gather("j", 2))
    assert found is not None
    assert (found.type_name, found.cause) == (GONE, member_id("j", 1))


def test_a_member_whose_result_was_forgotten_has_failed() -> None:
    stage = Stage()
    stage.end(0)
    stage.ports.ledger.forget([member_id("j", 0)])
    found = stage.step.failure(Gather("j", 1))
    assert found is not None
    assert (found.type_name, found.cause) == (GONE, member_id("j", 0))
    assert "was forgotten before it was used" in found.message


def test_of_members_that_failed_at_the_same_clock_the_first_of_the_header_is_the_cause() -> None:
    stage = Stage()
    join = next(f"j{n}" for n in range(99) if member_id(f"j{n}", 0) > member_id(f"j{n}", 1))
    for number in (0, 1):
        stage.end(number, states.FAILURE, join=join, error=ERROR, clock=7)
    found = stage.step.failure(Gather(join, 2))
    assert found is not None
    assert found.cause == member_id(join, 0)


@pytest.mark.parametrize(
    ("size", "opened", "is_read"), [(PAGE, None, True), (PAGE + 1, None, False), (PAGE + 1, PAGE + 1, True), (PAGE + 1, PAGE, False)]
)
def test_more_members_than_a_page_holds_are_read_only_of_a_join_of_that_size(size: int, opened: int | None, is_read: bool) -> None:
    stage = Stage()
    if opened is not None:
        stage.launched(opened)
    if is_read:
        assert stage.step.failure(Gather("j", size)) is not None
        assert len(asked(stage.ports.ledger, "read")) == 1, "a page without a record ends the reading"
    else:
        with pytest.raises(MessageRefused) as refused:
            stage.step.failure(Gather("j", size))
        assert (refused.value.code, refused.value.field) == (refusals.SCHEMA, "gathersize")
        assert asked(stage.ports.ledger, "read") == []


@pytest.mark.parametrize("over", [0, 1])
def test_results_together_may_have_as_many_bytes_as_arguments(over: int) -> None:
    stage = Stage()
    stage.end(0, result=None, result_ref=BlobRef("0" * 64, codec.MAX_DATA_BYTES - 2))
    stage.end(1, result="1" * (2 + over))
    if over:
        with pytest.raises(MessageRefused) as refused:
            stage.step.failure(Gather("j", 2))
        assert (refused.value.code, refused.value.field) == (refusals.TOO_LARGE, "gatherid")
    else:
        assert stage.step.failure(Gather("j", 2)) is None, "no result is read for that"


def test_what_members_added_follows_the_header_member_by_member() -> None:
    stage = Stage()

    def adds(number: int, join: str, text: str, added: int = 0) -> str:
        stage.end(number, join=join, result=text, added=added)
        return derived_id(member_id(join, number), ADDED)

    inner = adds(0, adds(0, "j", "0", 2), "3", 1)
    adds(1, derived_id(member_id("j", 0), ADDED), "4")
    adds(0, inner, "5")
    for number in (1, 2):
        adds(0, adds(number, "j", str(number), 1), str(5 + number))
    assert stage.step.results(Gather("j", 3)) == [0, 1, 2, 3, 4, 5, 6, 7]


def test_the_results_of_every_page_are_read() -> None:
    stage = Stage()
    stage.launched(PAGE + 1)
    for number in range(PAGE + 1):
        stage.end(number)
    assert stage.step.results(Gather("j", PAGE + 1)) == [*range(PAGE + 1)]


def test_an_outcome_has_the_value_or_the_error_and_the_task_that_failed_first() -> None:
    stage = Stage()
    stage.end(0)
    stage.end(1, states.FAILURE, error=ERROR._replace(cause="first"), result=None)
    stage.end(2, states.REVOKED, error=None, result=None)
    assert stage.step.results(Gather("j", 3, outcomes=True)) == [
        {"id": member_id("j", 0), "state": "SUCCESS", "value": 0},
        {"id": member_id("j", 1), "state": "FAILURE", "error": {"type": "ValueError", "message": "no", "traceback": ""}, "cause": "first"},
        {
            "id": member_id("j", 2), "state": "REVOKED", "cause": member_id("j", 2),
            "error": {"type": "TaskRevoked", "message": f"task {member_id('j', 2)} was revoked before it ran", "traceback": ""},
        },
    ]  # fmt: skip


def test_arguments_are_in_the_message_or_in_the_blob_store_after_the_results_that_are_handed_on() -> None:
    stage = Stage()
    stage.end(0)
    plain = Command("m", "t", "send", "host", 1.0, 1, args=(1,), kwargs={"a": 2})
    large = plain._replace(args=(), kwargs={}, data_ref=stage.ports.blobs.put(codec.encode_data((3,), {"b": 4})))
    assert stage.step.arguments(plain) == ((1,), {"a": 2})
    assert stage.step.arguments(large) == ((3,), {"b": 4})
    assert stage.step.arguments(large._replace(gather=Gather("j", 1))) == (([0], 3), {"b": 4})
    assert stage.step.arguments(plain._replace(gather=Gather("j", 1, hand_on=False))) == ((1,), {"a": 2})
    with pytest.raises(HeaderFailed):
        stage.step.arguments(plain._replace(gather=Gather("j", 2, hand_on=False)))


STEP = {"task": "send", "queue": "own"}
BODY = {"task": "body", "queue": "own", "errors": [{"task": "own"}], "watch": [{"task": "watch"}]}
AT = Place("c", "0", "p")


def spot(item: Any = STEP, follows: Any = BODY, watch: tuple[Any, ...] = (), resume: Any = None) -> PlaceContents:
    """A step of a chain of two."""
    chain = {"chain": [item, *([follows] if follows else [])], **({"resume": resume} if resume else {})}
    return PlaceContents(item, watch, chain, 0, 2 if follows else 1, (follows, AT._replace(node="1")) if follows else None)


def test_a_launch_keeps_the_body_the_chain_around_it_and_their_callbacks() -> None:
    found = kept([(AT, spot(watch=({"task": "outside"},)))])
    assert found == {
        "exits": [UnrunTask("c", 0, "body")],
        "callbacks": [[{"task": "own"}], [{"task": "watch"}, {"task": "outside"}]],
    }, "the body ends the chain, so both have one id"


def test_a_launch_in_place_of_a_task_keeps_what_waits_for_that_task_too() -> None:
    around = spot({**STEP, "errors": [{"task": "err"}], "watch": [{"task": "w"}]}, {"task": "last", "queue": "q"}, ({"task": "o"},))
    found = kept([(AT, spot(follows={"task": "body", "queue": "q"})), (AT._replace(canvas_id="d"), around)])
    assert found == {
        "exits": [UnrunTask("c", 0, "body"), UnrunTask("d", 0, "last")],
        "callbacks": [[{"task": "err"}], [{"task": "w"}, {"task": "o"}]],
    }


def test_nothing_is_kept_of_a_launch_that_nothing_waits_for_and_no_callbacks_where_none_are() -> None:
    assert kept([(AT, spot(follows=None))]) == {}
    assert kept([(AT, spot(follows={"task": "body", "queue": "q"}))]) == {"exits": [UnrunTask("c", 0, "body")]}


@pytest.mark.parametrize("over", [0, 1])
def test_callbacks_that_are_too_long_are_lost_with_their_plan(over: int) -> None:
    bare = len(json.dumps([[{"task": ""}], []]))
    errors = [{"task": "e" * (MOST_CALLBACKS - bare + over)}]
    found = kept([(AT, spot(follows={"task": "body", "queue": "q", "errors": errors}))])
    assert found.get("callbacks") == (None if over else [errors, []])


def join(**changes: Any) -> Join:
    """A join, as a launch opened it."""
    body = {
        "place": ["c", "0", "p"], "member": ["o", 1, 3], "origin": ["q", "t", None, None, ["r", "p", 1, 2]], "outcomes": True, **changes,
    }  # fmt: skip
    return Join("j", 4, json.dumps(body), "q")


def test_what_a_join_keeps_is_what_ends_with_its_plan() -> None:
    item = {"task": "e"}
    found = lost(join(exits=[["b", 2, "body"], ["c", 0, "last"]], callbacks=[[item], [item, {"task": "w"}]]))
    assert (found.body, found.chains) == (UnrunTask("b", 2, "body"), (UnrunTask("c", 0, "last"),))
    assert (found.member, found.gather) == (JoinMember("o", 1, 3), Gather("j", 4, True, True))
    assert found.origin == LaunchOrigin("q", "t", None, None, Lineage("r", "p", 1, 2))
    assert callbacks(found, False) == [item, {"task": "w"}]
    assert callbacks(found, True) == [item]


def test_of_a_join_that_an_older_version_opened_its_chain_ends() -> None:
    found = lost(join(member=None))
    assert (found.body, found.chains, found.member, found.errors, found.watch) == (UnrunTask("c", 0, LAUNCH), (), None, (), ())
