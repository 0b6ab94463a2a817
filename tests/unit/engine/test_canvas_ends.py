"""Launches without members, bodies whose header failed, and full joins whose plan is lost: what ends, and who is called."""

import json
from typing import Any

import pytest

from sedano.engine.batch import Job
from sedano.engine.canvas.chord_results import member_id
from sedano.engine.canvas.continuation import Consequences
from sedano.errors import MessageRefused
from sedano.model import states
from sedano.model.canvas.continuation import part_place, slot_id, step_id
from sedano.model.canvas.join import Join
from sedano.model.ledger.records import ErrorRecord
from sedano.model.messages import codec
from sedano.model.messages.lineage import Lineage
from sedano.model.messages.message import LAUNCH, Command, Gather, JoinMember, Place
from tests.unit.engine.test_continuing import ERROR, NO_PAGE, STEP, Stage, callback, commands, exits, of


def part(stage: Stage, size: int, join: JoinMember | None = None, budget: int = 10_000) -> Job:
    """The launch of a page of so many members, from number 4 on."""
    page = stage.page({"group": [STEP, STEP]})
    return of("launch", task=LAUNCH, place=part_place("g", page, 4, size), member=join, lineage=Lineage(budget=budget))


def test_the_members_of_a_page_that_cannot_be_published_end_and_arrive() -> None:
    stage, join = Stage(), JoinMember("j", 4, 9)
    stage.ports.ledger.open_join(Join("j", 9, "{}", "own"))
    found = stage.step.failed(part(stage, 2, join), states.FAILURE, ERROR)
    assert exits(found) == [(member_id("g", number), states.FAILURE, LAUNCH, 0) for number in (4, 5)]
    assert found.arrivals == [(JoinMember("j", number, 9), True) for number in (4, 5)]
    alone = stage.step.failed(part(stage, 2), states.FAILURE, ERROR)
    assert (len(alone.exits), alone.arrivals) == (2, [])


def test_a_message_that_claims_a_join_or_a_size_that_it_does_not_have_ends_nothing() -> None:
    stage = Stage()
    assert stage.step.failed(part(stage, 2, JoinMember("j", 4, 9)), states.FAILURE, ERROR) == Consequences()
    assert stage.step.failed(part(stage, 2, budget=1), states.FAILURE, ERROR) == Consequences()
    assert len(stage.step.failed(part(stage, 2, budget=2), states.FAILURE, ERROR).exits) == 2


@pytest.mark.parametrize(("size", "parts"), [(500, 0), (501, 2), (50_000, 100), (60_000, 100)])
def test_the_ends_of_a_large_page_are_shared_out_among_at_most_a_hundred_launches(size: int, parts: int) -> None:
    stage, join = Stage(), JoinMember("j", 4, 100_000)
    stage.ports.ledger.open_join(Join("j", 100_000, "{}", "own"))
    found = stage.step.failed(part(stage, size, join, budget=100_000), states.FAILURE, ERROR)
    sent = commands(found)
    assert len(sent) == parts
    assert len(found.exits) == (0 if parts else size)
    if parts:
        covered = [(int(one.place.node.split(".")[0]), int(one.place.node.split(".")[2])) for one in sent if one.place is not None]
        assert [first for first, _ in covered] == [4 + sum(number for _, number in covered[:n]) for n in range(parts)]
        assert sum(number for _, number in covered) == size
        assert [one.member.index for one in sent if one.member is not None] == [first for first, _ in covered]
        alone = stage.step.failed(part(stage, size, budget=100_000), states.FAILURE, ERROR)
        assert [one.member for one in commands(alone)] == [None] * parts


def body_of_a_chord(stage: Stage, item: Any, **changes: Any) -> Job:
    """The launch of a group that is the body of a chord."""
    return of("launch", task=LAUNCH, place=Place("c", "1", stage.page({"chain": [STEP, item]})), gather=Gather("h", 2), **changes)


def test_the_members_of_a_body_whose_header_failed_end_with_their_chains_where_somebody_hears_of_it() -> None:
    stage, cause = Stage(), ERROR._replace(cause="first")
    steps = {"chain": [{**STEP, "task": "one", "errors": [callback()]}, {**STEP, "task": "two"}]}
    found = stage.step.failed(body_of_a_chord(stage, {"group": [STEP, steps], "told": True}), states.FAILURE, cause)
    first, second = member_id("launch", 0), member_id("launch", 1)
    assert exits(found)[:3] == [
        (first, states.FAILURE, "send", 0), (step_id(second, 0), states.FAILURE, "one", 0), (second, states.FAILURE, "two", 0),
    ]  # fmt: skip
    assert [(one.task, [*one.args]) for one in commands(found)] == [("alarm", [step_id(second, 0)])]
    alone = {"group": [{**STEP, "errors": [callback()]}], "told": True}
    assert exits(stage.step.failed(body_of_a_chord(stage, alone), states.FAILURE, cause)) == [(first, states.FAILURE, "send", 0)]
    silent = stage.step.failed(body_of_a_chord(stage, {"group": [STEP, steps]}), states.FAILURE, cause)
    assert (exits(silent), silent.messages) == ([], [])
    own = stage.step.failed(body_of_a_chord(stage, {"group": [STEP, steps], "told": True}), states.FAILURE, ERROR)
    assert exits(own) == [], "the launch itself is the cause"
    one = body_of_a_chord(stage, {"group": [STEP, steps], "told": True})
    for changed in (one.command._replace(task="body"), one.command._replace(gather=None)):
        assert exits(stage.step.failed(one._replace(command=changed), states.FAILURE, cause)) == [], "no launch of the body of a chord"


def test_groups_within_and_pages_of_a_body_whose_header_failed_end_by_launches_of_their_own() -> None:
    stage, cause = Stage(), ERROR._replace(cause="first")
    within = {"group": [{"group": [STEP, STEP]}, STEP], "told": True}
    found = stage.step.failed(body_of_a_chord(stage, within), states.FAILURE, cause)
    (launch,) = commands(found)
    assert (launch.task, launch.task_id, launch.gather) == (LAUNCH, member_id("launch", 0), Gather("h", 2))
    assert [task_id for task_id, *_ in exits(found)] == [member_id("launch", 1)]
    large = {"group": 4, "pages": [["p" * 9, 2], ["q" * 9, 2]], "told": True}
    page = stage.page({"group": [STEP, STEP]})
    large["pages"] = [[page, 2], [page, 2]]
    found = stage.step.failed(body_of_a_chord(stage, large), states.FAILURE, cause)
    assert [(one.task, one.gather, one.member) for one in commands(found)] == [(LAUNCH, Gather("h", 2), None)] * 2


def test_a_page_of_a_body_whose_header_failed_ends_its_members_without_being_told_to() -> None:
    stage = Stage()
    one = part(stage, 2)
    one = one._replace(command=one.command._replace(gather=Gather("h", 2)))
    found = stage.step.failed(one, states.FAILURE, ERROR._replace(cause="first"))
    assert [(task_id, name) for task_id, _, name, _ in exits(found)] == [(member_id("g", number), "send") for number in (4, 5)]
    plain = one._replace(command=one.command._replace(task="body"))
    assert [task_id for task_id, *_ in exits(stage.step.failed(plain, states.FAILURE, ERROR))] == ["g"], "only a launch has members"
    lost = one._replace(command=one.command._replace(place=part_place("g", NO_PAGE, 4, 2)))
    assert stage.step.failed(lost, states.FAILURE, ERROR._replace(cause="first")) == Consequences()


def test_a_launch_publishes_its_members_and_opens_their_join_first() -> None:
    stage = Stage()
    one = of("launch", task=LAUNCH, place=Place("c", "0", stage.page({"chain": [{"group": [STEP, STEP]}, STEP]})))
    found = stage.succeeded(one)
    assert [(each.task_id, each.member) for each in commands(found)] == [
        (member_id("launch", number), JoinMember("launch", number, 2)) for number in (0, 1)
    ]
    join = stage.ports.ledger.read_join("launch")
    assert join is not None
    assert json.loads(join.body)["exits"] == [["c", 0, "send"]]
    plain = of("launch-2", task=LAUNCH, place=Place("c", "1", stage.page({"chain": [STEP, {"group": [STEP, STEP]}]})))
    assert [each.member for each in commands(stage.succeeded(plain))] == [None, None]
    assert stage.ports.ledger.read_join("launch-2") is None


def test_the_launch_of_a_page_publishes_members_of_the_whole_groups_join_and_opens_none() -> None:
    stage = Stage()
    one = part(stage, 2, JoinMember("j", 4, 9))
    assert [each.member for each in commands(stage.succeeded(one))] == [JoinMember("j", number, 9) for number in (4, 5)]
    assert stage.ports.ledger.read_join("j") is None
    assert stage.ports.ledger.read_join("launch") is None


def test_a_group_without_members_is_full_at_once() -> None:
    stage = Stage()
    one = of("launch", task=LAUNCH, place=Place("c", "0", stage.page({"chain": [{"group": []}, STEP]})))
    (body,) = commands(stage.succeeded(one))
    assert (body.task_id, body.gather) == ("c", Gather("launch", 0, True, False))
    assert stage.ports.ledger.read_join("launch") is None


def full(stage: Stage, chain: list[Any], member: JoinMember | None = None, watch: Any = ()) -> tuple[Join, Job]:
    """The join that a launch opened, and the job of its last member."""
    page = stage.page({"chain": [{"group": [STEP, STEP]}, *chain]}, **({"watch": list(watch)} if watch else {}))
    stage.succeeded(of("launch", task=LAUNCH, place=Place("c", "0", page), member=member))
    join = stage.ports.ledger.read_join("launch")
    assert join is not None
    return join, of(member_id("launch", 1))


WHY = MessageRefused("blob", "canvasplan", "is gone")


def test_a_full_join_goes_on_with_its_body() -> None:
    stage = Stage()
    join, _ = full(stage, [STEP])
    sent = stage.step.continued(join)
    assert not isinstance(sent, JoinMember)
    body = codec.decode(sent.outgoing.body)
    assert isinstance(body, Command)
    assert (body.task_id, body.gather) == ("c", Gather("launch", 2, True, False))


def test_a_full_join_whose_plan_is_lost_ends_its_body_the_chain_around_it_and_the_outer_join() -> None:
    stage, outer = Stage(), JoinMember("outer", 1, 2)
    for number in (0, 1):
        stage.ended(member_id("launch", number))
    join, last = full(stage, [{**STEP, "task": "body", "errors": [callback()]}, {**STEP, "task": "tail"}], outer, [callback("full")])
    cut = stage.step.cut(join, WHY, last)
    body = step_id("c", 1)
    assert (cut.end.task_id, cut.end.state, cut.end.name, cut.end.message_id, cut.end.attempt) == (body, states.FAILURE, "body", "", 0)
    assert cut.end.error == ErrorRecord("MessageRefused", str(WHY), cause=body)
    assert exits(cut.found) == [("c", states.FAILURE, "tail", 0), (slot_id(outer), states.FAILURE, "tail", 0)]
    assert cut.found.arrivals == [(outer, True)]
    assert [(one.task, len(one.args)) for one in commands(cut.found)] == [("alarm", 1), ("full", 3)]
    assert [*commands(cut.found)[0].args] == [body]


def test_a_lost_body_that_is_a_member_leaves_the_copy_of_its_own_end_where_nothing_follows_it() -> None:
    stage, outer = Stage(), JoinMember("outer", 1, 2)
    for number in (0, 1):
        stage.ended(member_id("launch", number))
    join, last = full(stage, [{**STEP, "task": "body"}], outer)
    assert exits(stage.step.cut(join, WHY, last).found) == [(slot_id(outer), states.FAILURE, "body", 0)]


def test_a_lost_plan_whose_header_failed_ends_with_that_error_and_calls_the_bodys_own_callbacks_alone() -> None:
    stage = Stage()
    stage.ended(member_id("launch", 0))
    stage.ended(member_id("launch", 1), states.FAILURE, error=ERROR, result=None)
    join, last = full(stage, [{**STEP, "task": "body", "errors": [callback()]}], None, [callback("full")])
    cut = stage.step.cut(join, WHY, last)
    assert cut.end.error is not None
    assert (cut.end.error.type_name, cut.end.error.cause) == ("ValueError", member_id("launch", 1))
    assert (cut.found.arrivals, cut.found.exits) == ([], [])
    assert [one.task for one in commands(cut.found)] == ["alarm"]


def test_a_callback_that_is_lost_with_its_plan_is_reported_and_the_others_are_called() -> None:
    stage = Stage()
    for number in (0, 1):
        stage.ended(member_id("launch", number))
    gone = callback("alarm", ref=["0" * 64, 9])
    join, last = full(stage, [{**STEP, "task": "body", "errors": [gone, callback("none")]}])
    cut = stage.step.cut(join, WHY, last)
    assert [one.task for one in commands(cut.found)] == ["none"]
    assert stage.logged("error") == ["an error callback is lost, because its plan is"]
