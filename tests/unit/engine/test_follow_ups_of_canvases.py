"""The follow step of canvases: ends of tasks that never ran, full joins, lost plans, and what a redelivery does once more."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from sedano import memory
from sedano.engine.canvas.continuation import Consequences, Cut
from sedano.engine.drafts import Addressed, CommandDraft
from sedano.engine.worker.follow_ups import _stands, _with_the_represented
from sedano.errors import Unavailable
from sedano.model import refusals, states
from sedano.model.ledger.records import Outcome, Posted, Recorded, TaskRecord, copy_of
from sedano.model.messages.message import Command
from sedano.ports import Ports, Telemetry, command_queue
from tests.unit.engine.following import (
    AWAY,
    MEMBER,
    REJECTED,
    Follows,
    Sends,
    Stage,
    command,
    command_of,
    ended,
    exits,
    member,
    message,
    outcome,
)
from tests.unit.engine.gated import QUEUE, asked, job, waits


def test_the_ends_of_tasks_that_never_ran_are_recorded_and_told_once() -> None:
    stage = Stage()
    copied = copy_of(outcome("x"), "slot")
    stage.follows.by_id["a"] = Consequences(exits=[outcome("x"), copied])
    assert exits(stage.follow(ended(member("a")))) == [("x", 5)]
    assert stage.ports.ledger.read(["x"])["x"].state == states.FAILURE
    again = Stage(ports=stage.ports, follows=Follows({"a": Consequences(exits=[outcome("x", clock=9, nonce="again")])}))
    assert exits(again.follow(ended(member("a")))) == [("x", 5)], "a redelivery of the same message tells it with the clock of the record"
    other = Stage(ports=stage.ports, follows=Follows({"b": Consequences(exits=[outcome("x", clock=9, nonce="b", message_id="b")])}))
    assert exits(other.follow(ended(member("b")))) == [], "the message that recorded it tells it"


class Called:
    """Hooks that keep the tasks they were called for."""

    def __init__(self) -> None:
        """Begin with none."""
        self.ended: list[str] = []

    def revoked(self, ended: Outcome, command: Command, telemetry: Telemetry) -> None:
        """Keep it."""
        self.ended.append(ended.task_id)


def test_the_hooks_are_called_once_though_the_step_is_repeated_for_each_message() -> None:
    hooks = Called()
    follows = Follows({"a": Consequences([message("a")], exits=[outcome("x")]), "b": Consequences([message("b")], exits=[outcome("y")])})
    stage = Stage(follows=follows, sends=Sends(breaks=frozenset("b")))
    stage.step = replace(stage.step, hooks=hooks)
    stage.follow(ended(member("a")), ended(member("b")))
    assert (stage.sends.sent, hooks.ended) == (["a"], ["x", "y"])


class Away(memory.MemoryLedger):
    """A ledger that keeps nothing."""

    def keep(self, outcomes: Sequence[Outcome]) -> list[Any]:
        """Be away."""
        raise Unavailable("ledger: away")


def test_a_member_does_not_arrive_before_the_end_of_its_chain_is_recorded() -> None:
    stage = Stage()
    stage.ports.ledger.port = Away(stage.ports.clock)  # type: ignore[attr-defined]
    stage.follows.by_id = {
        "a": Consequences(exits=[outcome("x")], arrivals=[(MEMBER, True)]),
        "b": Consequences(exits=[outcome("y")]),
        "c": Consequences(arrivals=[(MEMBER, False)]),
    }
    found = stage.follow(*(ended(member(name)) for name in "abc"))
    assert (stage.joins.arrived, sorted(waits(found)), exits(found)) == ([("c", False)], ["a", "b"], [])


def test_ends_that_are_only_recorded_send_nothing() -> None:
    stage = Stage(follows=Follows({"a": Consequences(exits=[outcome("x")])}))
    assert exits(stage.follow(ended(member("a")))) == [("x", 5)]
    assert stage.sends.calls == 0


def test_nothing_is_asked_of_the_ledger_where_no_end_is_to_be_recorded() -> None:
    stage = Stage(follows=Follows({"a": Consequences([message("a")])}))
    stage.follow(ended(member("a")))
    assert asked(stage.ports.ledger, "keep") == []


def test_the_body_of_a_full_join_is_sent_for_the_one_that_filled_it_and_those_it_stands_for() -> None:
    stage = Stage(sends=Sends({"body": AWAY}))
    a, b = member("a"), member("b")
    stage.follows.by_id = {name: Consequences(arrivals=[(MEMBER, False)]) for name in "abc"}
    stage.joins.answers = {"a": message("body"), "b": a, "c": Unavailable("join: away")}
    found = stage.follow(ended(a), ended(b), ended(member("c")), ended(member("d")))
    assert (sorted(waits(found)), "d" in stage.window) == (["a", "b", "c"], True)


def cut(found: Consequences | None = None, **changes: Any) -> Cut:
    """The end of a body whose plan is lost."""
    return Cut(outcome("body", message_id="", **changes), found or Consequences())


def arriving(answer: Any, ports: Ports | None = None, **parts: Any) -> Stage:
    """A stage where `a` fills a join, which answers so."""
    stage = Stage(**({"ports": ports} if ports is not None else {}), **parts)
    stage.follows.by_id["a"] = Consequences(arrivals=[(MEMBER, False)])
    stage.joins.answers = {"a": answer}
    return stage


def errors(ports: Ports) -> list[Mapping[str, Any]]:
    """What was logged as an error."""
    telemetry: Any = ports.telemetry
    return [line.fields for line in telemetry.lines if line.level == "error"]


def test_a_body_whose_plan_is_lost_ends_and_what_follows_it_is_sent() -> None:
    stage = arriving(cut(Consequences([message("callback")])))
    found = stage.follow(ended(member("a")))
    assert (stage.sends.sent, exits(found), found.counts) == (["callback"], [("body", 5)], {("CanvasesCut", "only"): 1})
    assert errors(stage.ports) == [{"task_id": "body", "error": "m"}]
    again = arriving(cut(Consequences([message("callback")]), clock=9, nonce="again"), stage.ports)
    found = again.follow(ended(member("a")))
    assert (again.sends.sent, exits(found), found.counts) == (["callback"], [("body", 5)], {}), "a redelivery does it once more"
    assert len(errors(stage.ports)) == 1


def test_a_lost_plan_without_an_error_is_told_without_one() -> None:
    stage = arriving(cut(error=None))
    stage.follow(ended(member("a")))
    assert errors(stage.ports) == [{"task_id": "body", "error": ""}]


def test_a_body_that_began_nevertheless_is_not_cut() -> None:
    stage = arriving(cut(Consequences([message("callback")])))
    stage.ports.ledger.keep([outcome("body", state=states.SUCCESS, message_id="m", nonce="another")])
    found = stage.follow(ended(member("a")))
    assert (stage.sends.sent, exits(found)) == ([], [])


def test_a_cut_that_is_not_recorded_lets_its_message_wait() -> None:
    stage = arriving(cut(Consequences([message("callback")])))
    stage.ports.ledger.port = Away(stage.ports.clock)  # type: ignore[attr-defined]
    found = stage.follow(ended(member("a")))
    assert (stage.sends.sent, list(waits(found))) == ([], ["a"])


def record(state: Any = states.FAILURE, **changes: Any) -> TaskRecord:
    """The record that a message left."""
    return TaskRecord("a", state, message_id="a", clock=5, name="only")._replace(**changes)


@pytest.mark.parametrize(("state", "is_parked"), [(states.FAILURE, True), (states.REVOKED, False)])
def test_a_redelivery_tells_sends_and_sets_aside_again(state: Any, is_parked: bool) -> None:
    stage = Stage(follows=Follows({"a": Consequences([message("next")])}))
    stage.step.follow_again(member("a"), record(state, error=REJECTED, outbox=(Posted(QUEUE, "posted"),)), stage.batch)
    assert (stage.sends.sent, len(stage.batch.chronicle.rows)) == (["posted", "next"], 1)
    assert [one.code for one in stage.batch.parkings] == ([refusals.REJECTED] if is_parked else [])
    assert ("a" in stage.window) != is_parked


@pytest.mark.parametrize("step", ["follow_again", "arrive_again"])
def test_a_redelivery_that_cannot_be_worked_out_is_set_aside(step: str) -> None:
    stage = Stage(follows=Follows(broken=frozenset("a")))
    getattr(stage.step, step)(member("a"), record(), stage.batch)
    assert ([one.code for one in stage.batch.parkings], "a" in stage.window) == ([refusals.UNEXPECTED], False)


def test_a_message_waits_whose_arrival_or_retry_could_not_be_sent_again() -> None:
    stage = arriving(AWAY)
    stage.step.arrive_again(member("a"), record(), stage.batch)
    assert (list(waits(stage.batch)), stage.batch.parkings) == (["a"], [])
    stage = Stage(sends=Sends({"instead": AWAY}))
    stage.step.retry_again(job("b"), record(states.RETRY, outbox=(Posted(QUEUE, "instead"),)), stage.batch)
    assert (list(waits(stage.batch)), stage.batch.parkings) == (["b"], [])


@pytest.mark.parametrize(("state", "failed"), [(states.SUCCESS, False), (states.FAILURE, True)])
def test_a_member_arrives_with_the_end_that_another_message_left(state: Any, failed: bool) -> None:
    stage = Stage()
    stage.step.arrive_again(member("a"), record(state), stage.batch)
    assert (stage.joins.arrived, "a" in stage.window) == ([("a", failed)], True)
    stage.step.arrive_again(job("b"), record(state), stage.batch)
    assert (len(stage.joins.arrived), "b" in stage.window) == (1, True)


@pytest.mark.parametrize(("later", "delay"), [(-5.0, 0), (0.0, 0), (5.0, 5)])
def test_a_recorded_retry_is_sent_again_for_the_moment_that_was_recorded(later: float, delay: int) -> None:
    stage = Stage()
    sent: list[Addressed] = []
    stage.sends.publish_all = lambda messages: sent.extend(messages) or [None] * len(messages)  # type: ignore[method-assign, func-returns-value]
    stage.step.retry_again(job("a"), record(states.RETRY, attempt=2, not_before=stage.ports.clock.now() + later), stage.batch)
    assert [(one.outgoing.delay, command(one).attempt) for one in sent] == [(delay, 2)]
    assert (len(stage.batch.chronicle.rows), "a" in stage.window) == (1, True)


def test_a_task_that_was_replaced_is_replaced_again_and_not_retried() -> None:
    stage = Stage()
    composed = stage.step.composer.compose(CommandDraft("default", command_of("other")), command_of("other").lineage)
    one = record(states.RETRY, outbox=(Posted(command_queue("default"), composed.outgoing.body),))
    stage.step.retry_again(job("a"), one, stage.batch)
    assert [command(body).task_id for body in stage.sends.sent] == ["other"]


def test_a_retry_whose_outbox_cannot_be_read_is_set_aside() -> None:
    stage = Stage()
    ref = stage.ports.blobs.put(b"[[]]")
    stage.step.retry_again(job("a"), record(states.RETRY, outbox_ref=ref), stage.batch)
    assert ([one.code for one in stage.batch.parkings], "a" in stage.window) == ([refusals.UNEXPECTED], False)


def test_those_that_are_represented_fail_with_the_one_that_stands_for_them() -> None:
    failed = {"a": AWAY}
    assert _with_the_represented(dict(failed), [("c", "b"), ("b", "a"), ("e", "d")]) == {"a": AWAY, "b": AWAY, "c": AWAY}
    assert _with_the_represented({}, [("b", "a")]) == {}
    other = Unavailable("join: away")
    assert _with_the_represented({"a": AWAY, "b": other}, [("c", "b"), ("b", "a")]) == {"a": AWAY, "b": other, "c": other}


def test_messages_that_represent_themselves_or_each_other_are_followed_once() -> None:
    assert _with_the_represented({}, [("a", "a")]) == {}
    assert _with_the_represented({"z": AWAY}, [("a", "a"), ("b", "c"), ("c", "b")]) == {"z": AWAY}
    assert _with_the_represented({"a": AWAY}, [("a", "b"), ("b", "a"), ("c", "b"), ("c", "d")]) == dict.fromkeys("abc", AWAY)


@pytest.mark.parametrize(
    ("answer", "stands"),
    [(Recorded(True), True), (Recorded(False), False), (Recorded(False, record(message_id="")), True), (Recorded(False, record()), False),
     (Recorded(False, record(states.RUNNING, message_id="")), False)],
)  # fmt: skip
def test_a_cut_stands_where_its_own_end_is_recorded(answer: Recorded, stands: bool) -> None:
    assert _stands(answer) == stands
