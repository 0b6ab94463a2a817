"""What follows in a canvas from the end of one task: the next step, side branches, joins, and the ends of what will never run."""

import hashlib
import json
from typing import Any

import pytest

from sedano.engine.batch import Job
from sedano.engine.canvas.chord_results import Gathering, HeaderFailed
from sedano.engine.canvas.continuation import Conducting, Consequences, _why
from sedano.engine.canvas.error_requests import request_of
from sedano.engine.canvas.page_cache import Plans
from sedano.engine.drafts import Composer
from sedano.engine.registry import Registry
from sedano.errors import MessageRefused, Unavailable
from sedano.model import states
from sedano.model.canvas.continuation import ADDED, branch_id, slot_id, step_id
from sedano.model.canvas.pages import refer
from sedano.model.ledger.records import Claim, ErrorRecord, Outcome
from sedano.model.messages import codec
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.lineage import derived_id
from sedano.model.messages.message import LAUNCH, Command, JoinMember, Place
from sedano.model.tasks.parameters import Parameters
from sedano.model.tasks.task_spec import TaskSpec
from tests.unit.engine.gated import job, world

ERROR = ErrorRecord("ValueError", "no", "the traceback")
STEP = {"task": "send", "queue": "own"}
NO_PAGE = f"blob:{'0' * 64}:9"


def callback(name: str = "alarm", **more: Any) -> dict[str, Any]:
    """An error callback."""
    return {"task": name, "queue": "own", **more}


class Stage:
    """The continuation of canvases over ports in memory."""

    def __init__(self) -> None:
        """Know callbacks of each kind."""
        self.ports = world(0.5, "ledger")
        lamport, registry = LamportClock(lambda: 1), Registry()
        functions: dict[str, Any] = {
            "alarm": lambda task_id: None, "full": lambda request, error, trace: None, "none": lambda: None, "body": print,
        }  # fmt: skip
        for name, function in functions.items():
            registry.tasks[name] = TaskSpec(name, function, Parameters(function))
        self.plans, self.gathering = Plans(self.ports.blobs), Gathering(self.ports)
        self.step = Conducting(self.ports, lamport, Composer("me", lamport, self.ports), registry, self.plans, self.gathering)

    def page(self, item: Any, **more: Any) -> str:
        """The name of a page of *item*."""
        return refer(self.ports.blobs.put(json.dumps({"item": item, **more}).encode()))

    def at(self, node: str, *steps: Any, task_id: str = "t", canvas: str = "c", **more: Any) -> Job:
        """The job of a step of a chain of these."""
        chain: dict[str, Any] = {"chain": [*steps], **({"resume": more.pop("resume")} if "resume" in more else {})}
        return of(task_id, place=Place(canvas, node, self.page(chain, **more)))

    def succeeded(self, one: Job, value: Any = 7, added: int = 0) -> Consequences:
        """What follows from its success."""
        return self.step.succeeded(one, lambda: value, added)

    def ended(self, task_id: str, state: Any = states.SUCCESS, **changes: Any) -> None:
        """Record an end."""
        (answer,) = self.ports.ledger.claim([Claim(task_id, 0, "m", "n", self.ports.clock.now() + 9, 1, "only")])
        assert answer.record is not None
        plain = Outcome(task_id, state, "n", answer.record.fence, "m", 0, 9, "only", 1.0, result="7")
        self.ports.ledger.record([plain._replace(**changes)])

    def logged(self, level: str) -> list[Any]:
        """The messages of this level."""
        telemetry: Any = self.ports.telemetry
        return [line.message for line in telemetry.lines if line.level == level]


def of(task_id: str = "t", **changes: Any) -> Job:
    """A job with another message."""
    one = job("a")
    return one._replace(command=one.command._replace(task_id=task_id, **changes))


def commands(found: Consequences) -> list[Command]:
    """The commands that are sent."""
    read = [codec.decode(one.outgoing.body) for one in found.messages]
    assert all(isinstance(one, Command) for one in read)
    return read  # type: ignore[return-value]


def exits(found: Consequences) -> list[tuple[str, Any, str, int]]:
    """The ends that are recorded: the task, its state, its name and its attempt."""
    return [(one.task_id, one.state, one.name, one.attempt) for one in found.exits]


def test_a_task_outside_a_canvas_has_no_follow_ups_but_its_place_in_a_join() -> None:
    stage, member = Stage(), JoinMember("j", 1, 3)
    assert stage.succeeded(of()) == Consequences()
    own = of(slot_id(member), member=member)
    assert stage.succeeded(own) == Consequences(arrivals=[(member, False)])
    assert stage.step.failed(own, states.FAILURE, ERROR) == Consequences(arrivals=[(member, True)])


def test_a_member_that_added_to_its_chord_waits_for_those() -> None:
    stage, member = Stage(), JoinMember("j", 1, 3)
    task_id = slot_id(member)
    assert stage.succeeded(of(task_id, member=member), added=2) == Consequences()
    join = stage.ports.ledger.read_join(derived_id(task_id, ADDED))
    assert join is not None
    assert (join.size, json.loads(join.body)) == (2, {"arrive": ["j", 1, 3]})
    assert stage.succeeded(of("own"), added=2) == Consequences(), "it is a member of nothing"
    assert stage.step.continued(join) == member
    stage.succeeded(of("next", place=Place("c", "0", stage.page({"chain": [STEP, STEP]})), member=member), added=2)
    assert stage.ports.ledger.read_join(derived_id("next", ADDED)) is None, "another step of its chain follows"


def test_the_next_step_gets_the_value_and_the_place_in_the_join() -> None:
    stage, member = Stage(), JoinMember("j", 1, 3)
    one = stage.at("0", STEP, {**STEP, "args": [1]}, STEP)
    one = one._replace(command=one.command._replace(member=member))
    found = stage.succeeded(one)
    (sent,) = commands(found)
    assert (sent.task_id, [*sent.args], sent.member, found.arrivals) == (step_id("c", 1), [7, 1], member, [])


def test_links_and_forks_get_the_value_and_no_place_in_the_join() -> None:
    stage, member = Stage(), JoinMember("j", 1, 3)
    one = stage.at("1", STEP, {**STEP, "links": [STEP], "forks": [STEP]})
    one = one._replace(command=one.command._replace(member=member, task_id=slot_id(member)))
    found = stage.succeeded(one)
    sent = commands(found)
    assert [(each.task_id, [*each.args], each.member) for each in sent] == [
        (branch_id(slot_id(member), kind, 0), [7], None) for kind in ("links", "forks")
    ]
    assert found.arrivals == [(member, False)]
    forks = stage.at("1", STEP, {**STEP, "forks": [STEP]})
    assert [[*each.args] for each in commands(stage.succeeded(forks))] == [[7]]


def test_a_value_that_nothing_takes_is_not_read() -> None:
    stage = Stage()

    def value() -> Any:
        raise AssertionError

    assert stage.step.succeeded(stage.at("1", STEP, STEP), value, 0) == Consequences()


def test_a_chain_in_place_of_a_task_goes_on_behind_it_when_it_has_ended() -> None:
    stage = Stage()
    outer = stage.at("0", STEP, STEP, STEP).command.place
    inner = stage.at("1", STEP, STEP, task_id="c", resume=[3, list(outer or ()), 2, 9])
    found = stage.succeeded(inner)
    (sent,) = commands(found)
    assert (sent.task_id, sent.lineage.hops, sent.lineage.budget) == (step_id("c", 1), 2, 9)
    linked = stage.at("0", {**STEP, "links": [STEP]}, STEP).command.place
    inner = stage.at("1", STEP, STEP, task_id="c", resume=[3, list(linked or ()), 2, 9])
    link = commands(stage.succeeded(inner))[0]
    assert link.task_id == branch_id(derived_id("c", "resumed"), "links", 0), "its own links have other ids"
    ends = stage.at("1", STEP, STEP, task_id="c", resume=[3, None, 2, 9])
    assert stage.succeeded(ends) == Consequences()


def test_attempts_of_what_a_task_replaced_are_known_from_its_plan() -> None:
    stage = Stage()
    one = stage.at("0", STEP, task_id="c", resume=[3, None, 2, 9])
    assert stage.step.attempts_before(one.command) == 3
    assert stage.step.attempts_before(one.command._replace(task_id="t")) == 0, "another step of the chain"
    assert stage.step.attempts_before(one.command._replace(task=LAUNCH)) == 0
    assert stage.step.attempts_before(of().command) == 0
    assert stage.step.attempts_before(stage.at("0", STEP, task_id="c").command) == 0
    assert stage.step.attempts_before(of("c", place=Place("c", "0", NO_PAGE)).command) == 0


def test_a_place_that_leads_nowhere_is_refused_before_its_task_runs() -> None:
    stage = Stage()
    stage.step.check(of().command, ())
    stage.step.check(stage.at("1", STEP, STEP).command, ())
    for one in (stage.at("7", STEP, STEP).command, of(place=Place("c", "0", NO_PAGE)).command, of(task=LAUNCH).command):
        with pytest.raises(MessageRefused):
            stage.step.check(one, ())


def test_a_canvas_whose_plan_is_lost_ends_where_it_is() -> None:
    stage = Stage()
    found = stage.succeeded(of(place=Place("c", "0", NO_PAGE)))
    assert exits(found) == [("c", states.FAILURE, LAUNCH, 0)]
    (end,) = found.exits
    assert end.error is not None
    assert (end.error.type_name, end.error.cause, end.message_id, end.fence) == ("MessageRefused", "t", "a", 0)
    assert stage.logged("error") == ["the next step of a canvas is lost"]
    telemetry: Any = stage.ports.telemetry
    assert telemetry.counted("CanvasesCut", task="only") == 1
    assert stage.succeeded(of("c", place=Place("c", "0", NO_PAGE))) == Consequences(), "its own end is recorded"


def test_a_header_that_has_failed_since_is_the_failure_of_the_canvas() -> None:
    stage = Stage()

    def value() -> Any:
        raise HeaderFailed(ERROR._replace(cause="first"))

    found = stage.step.succeeded(stage.at("0", STEP, STEP), value, 0)
    assert [(one.task_id, one.error) for one in found.exits] == [("c", ERROR._replace(cause="first"))]
    assert stage.logged("error") == []


def test_a_failed_step_calls_its_callbacks_once_each_and_ends_its_chain() -> None:
    stage = Stage()
    twice = [callback(), callback(stamps="a=1"), callback("full"), callback("none"), callback("theirs")]
    one = stage.at("0", {**STEP, "errors": twice}, STEP, {**STEP, "task": "last"}, watch=[callback(args=[5])])
    found = stage.step.failed(one, states.FAILURE, ERROR)
    sent = commands(found)
    assert [(each.task, [*each.args]) for each in sent] == [
        ("alarm", ["t"]), ("full", [request_of(one.command), {"type": "ValueError", "message": "no"}, "the traceback"]), ("none", []),
        ("theirs", ["t"]), ("alarm", [5]),
    ]  # fmt: skip
    assert len({each.task_id for each in sent}) == 5
    assert exits(found) == [("c", states.FAILURE, "last", 0)]
    again = commands(stage.step.failed(one, states.FAILURE, ERROR))
    assert [each.task_id for each in again] == [each.task_id for each in sent], "a redelivery calls the same"


def test_the_id_of_an_error_callback_is_derived_from_the_task_and_the_call_in_any_order_of_its_arguments() -> None:
    stage = Stage()
    twice = [callback(kwargs={"a": 1, "b": 2}), callback(kwargs={"b": 2, "a": 1})]
    (sent,) = commands(stage.step.failed(stage.at("1", STEP, {**STEP, "errors": twice}, task_id="t"), states.FAILURE, ERROR))
    digest = hashlib.sha256(b'{"kwargs": {"a": 1, "b": 2}, "task": "alarm"}').hexdigest()
    assert sent.task_id == derived_id("t", f"error/{digest[:32]}"), "workers of every version derive the same"


def test_a_step_that_failed_only_because_of_another_one_calls_its_own_callbacks_and_not_those_of_the_canvas() -> None:
    stage = Stage()
    one = stage.at("0", {**STEP, "errors": [callback()]}, STEP, watch=[callback("full")])
    assert [each.task for each in commands(stage.step.failed(one, states.FAILURE, ERROR._replace(cause="first")))] == ["alarm"]


@pytest.mark.parametrize(
    ("state", "end"), [(states.FAILURE, states.FAILURE), (states.REVOKED, states.REVOKED), (states.POISON, states.FAILURE)]
)
def test_what_waited_ends_as_its_cause_means_and_the_last_step_has_none(state: Any, end: Any) -> None:
    stage = Stage()
    assert [one.state for one in stage.step.failed(stage.at("0", STEP, STEP), state, ERROR).exits] == [end]
    assert stage.step.failed(stage.at("1", STEP, STEP, task_id="c"), state, ERROR) == Consequences()


def test_the_chains_around_a_replaced_task_end_as_its_next_attempt() -> None:
    stage = Stage()
    outer = stage.at("0", STEP, STEP, canvas="outer").command.place
    one = stage.at("0", STEP, {**STEP, "task": "last"}, canvas="inner", resume=[3, list(outer or ()), 2, 9])
    found = stage.step.failed(one, states.FAILURE, ERROR)
    assert exits(found) == [("inner", states.FAILURE, "last", 3), ("outer", states.FAILURE, "send", 0)]


def test_a_side_branch_that_failed_is_told_and_its_canvas_goes_on() -> None:
    stage = Stage()
    one = of("fork", place=Place("fork", "1.forks.0", stage.page({"chain": [STEP, {**STEP, "forks": [STEP]}]})))
    assert stage.step.failed(one, states.FAILURE, ERROR).exits == []
    telemetry: Any = stage.ports.telemetry
    assert telemetry.counted("ForksFailed", task="only") == 1
    assert stage.logged("warning") == ["a side branch failed; its canvas continues"]
    other = Stage()
    other.step.failed(other.at("1", STEP, STEP, task_id="c"), states.FAILURE, ERROR)
    assert other.logged("warning") == []


def test_a_member_with_an_id_of_its_own_leaves_a_copy_where_its_join_looks() -> None:
    stage, member = Stage(), JoinMember("j", 1, 3)
    with pytest.raises(Unavailable, match="a member of the join j, does not exist yet"):
        stage.succeeded(of("own", member=member))
    stage.ports.ledger.claim([Claim("own", 0, "m", "n", stage.ports.clock.now() + 9, 1, "only")])
    with pytest.raises(Unavailable, match="does not exist yet"):
        stage.succeeded(of("own", member=member))
    stage.ports.ledger.record([Outcome("own", states.SUCCESS, "n", 1, "m", 0, 9, "only", 1.0, result="7")])
    found = stage.succeeded(of("own", member=member))
    assert [(one.task_id, one.state, one.nonce, one.result) for one in found.exits] == [
        (slot_id(member), states.SUCCESS, found.exits[0].nonce, "7")
    ]
    assert found.arrivals == [(member, False)]


def test_a_chain_that_ends_with_a_failure_leaves_the_copy_of_its_own_end() -> None:
    stage, member = Stage(), JoinMember("j", 1, 3)
    one = stage.at("0", STEP, {**STEP, "task": "last"})
    found = stage.step.failed(one._replace(command=one.command._replace(member=member)), states.FAILURE, ERROR)
    assert exits(found) == [("c", states.FAILURE, "last", 0), (slot_id(member), states.FAILURE, "last", 0)]
    inside = stage.at("0", STEP, STEP, canvas=slot_id(member))
    found = stage.step.failed(inside._replace(command=inside.command._replace(member=member)), states.FAILURE, ERROR)
    assert [one.task_id for one in found.exits] == [slot_id(member)]
    outer = stage.at("0", STEP, {**STEP, "task": "around"}, canvas="outer").command.place
    within = stage.at("0", STEP, {**STEP, "task": "last"}, canvas="inner", resume=[3, list(outer or ()), 2, 9])
    found = stage.step.failed(within._replace(command=within.command._replace(member=member)), states.FAILURE, ERROR)
    assert exits(found)[1:] == [("outer", states.FAILURE, "around", 0), (slot_id(member), states.FAILURE, "around", 0)]


def test_without_an_error_a_task_was_revoked_and_every_error_names_its_cause() -> None:
    assert _why("t", None) == ErrorRecord("TaskRevoked", "task t was revoked before it ran", cause="t")
    assert _why("t", ERROR) == ERROR._replace(cause="t")
    assert _why("t", ERROR._replace(cause="first")).cause == "first"
