"""The next actions of a flow run: what begins, what is stopped, what is undone in which order, and what a retry begins again."""

from collections.abc import Sequence
from typing import Any

import pytest

from sedano.model import states
from sedano.model.ledger.records import NO_RETRY, TERMINATE, ErrorRecord, TaskRecord
from sedano.model.messages.message import BlobRef
from sedano.model.retry import Retry
from sedano.model.workflow.conditions import condition
from sedano.model.workflow.definition import Definition, Ref, StepSpec, TaskCall
from sedano.model.workflow.flow_run import BY_HAND, FlowRun, call_id
from sedano.model.workflow.next_actions import (
    Compensate,
    End,
    Publish,
    Stop,
    WindUp,
    advance,
    retried,
    to_compensate,
    uncompensated,
    undone_by_hand,
)
from sedano.model.workflow.progress import FlowProgress

RUN = FlowRun("r", "w", "1", BlobRef("0" * 64, 1), 0.0)
NO = ErrorRecord("ValueError", "no")
UNDO = TaskCall("u")
PAUSED, FAILING, CANCELLING = (RUN._replace(state=state) for state in ("PAUSED", "FAILING", "CANCELLING"))


def step(name: str, *args: Any, **more: Any) -> StepSpec:
    """Return a step of the task `t`."""
    return StepSpec(name, TaskCall("t", args), **more)


def one(name: str, state: Any = states.SUCCESS, attempt: int = 0, **more: Any) -> TaskRecord:
    """Return the record of a start of a step."""
    return TaskRecord(RUN.step_id(name, attempt), state, **{"message_id": "m", **more})


def undo(name: str, state: Any, run: FlowRun = RUN, **more: Any) -> TaskRecord:
    """Return the record of the compensation of a step."""
    return TaskRecord(run.compensation_id(name), state, **{"message_id": "m", **more})


def progress(*steps: StepSpec, run: FlowRun = RUN, records: Sequence[TaskRecord] = (), wait: bool = False) -> FlowProgress:
    """Return the progress of a run of *steps* over the inputs `n` and `list`."""
    whole = Definition("w", steps=steps, on_failure="wait" if wait else "compensate")
    return FlowProgress(whole, run, {"n": 5, "list": [7, 8]}, {record.task_id: record for record in records}, lambda record: 1)


A, B = step("a", compensation=UNDO), step("b", after=("a",), compensation=UNDO)


@pytest.mark.parametrize("state", ["SUCCEEDED", "FAILED", "CANCELLED"])
def test_a_run_that_has_ended_does_nothing_more(state: str) -> None:
    assert advance(progress(A, run=RUN._replace(state=state)), None) == ()


def test_a_run_succeeds_when_every_step_is_done_also_while_it_is_paused() -> None:
    skipped = step("b", when=(condition("not $n"),))
    for run in (RUN, PAUSED):
        assert advance(progress(A, skipped, run=run, records=[one("a")]), "a") == (End("SUCCEEDED", {}),)
    assert advance(progress(A, run=PAUSED), None) == ()
    assert advance(progress(A, B, run=PAUSED, records=[one("a", states.FAILURE)]), "a") == ()


def test_a_step_that_failed_winds_its_run_up_with_the_reason() -> None:
    assert advance(progress(A, B, records=[one("a", states.FAILURE, error=NO)]), "a") == (WindUp("step a: ValueError: no"),)
    assert advance(progress(B, A, records=[one("a", states.EXPIRED)]), "b") == (WindUp("step a: it did not end well"),)


def test_what_is_ready_is_published_once_it_was_asked_for() -> None:
    again = step("d", retry=Retry(max_retries=2))
    steps = (A, B, step("c"), again)
    retry = one("d", states.FAILURE)
    ready = [Publish(A, RUN.step_id("a", 0), 0), Publish(steps[2], RUN.step_id("c", 0), 0), Publish(again, RUN.step_id("d", 1), 1)]
    assert advance(progress(*steps, records=[retry]), None) == ready
    assert advance(progress(*steps, records=[retry]), "d") == ready[2:]
    assert advance(progress(*steps, records=[retry]), "c") == ready[1:2]
    waiting = [retry, one("d", states.RETRY, 1), one("c", states.RUNNING), one("a")]
    assert advance(progress(*steps, records=waiting), None) == [Publish(B, RUN.step_id("b", 0), 0)]
    assert advance(progress(*steps, records=waiting), "d") == []


def test_what_waits_for_a_step_is_reached_through_skipped_steps_and_named_once() -> None:
    skipped = [step(name, after=before, when=(condition("not $n"),)) for name, before in (("b", ("a",)), ("c", ("b", "a")))]
    last = [step("d", after=("c", "b")), step("e", after=("d",)), step("f")]
    found = advance(progress(A, *skipped, *last, records=[one("a")]), "a")
    assert found == [Publish(last[0], RUN.step_id("d", 0), 0)]


EACH = step("e", Ref("item"), each=Ref("list"), compensation=UNDO)
CALLS = [call_id(RUN.step_id("e", 0), n) for n in (0, 1)]


def call(position: int, state: Any, **more: Any) -> TaskRecord:
    """Return the record of a call of the map."""
    return TaskRecord(CALLS[position], state, **{"message_id": "m", **more})


@pytest.mark.parametrize(("run", "terminate"), [(FAILING, False), (CANCELLING, True)])
def test_what_has_not_begun_is_stopped_first(run: FlowRun, terminate: bool) -> None:
    c, later = step("c"), step("d", after=("c",))
    ids = [RUN.step_id(name, 0) for name in "ace"]
    assert advance(progress(A, c, later, EACH, run=run), None) == (Stop((ids[0], ids[1], *CALLS, ids[2]), terminate),)
    records = [one("a"), one("c", states.RETRY), call(0, states.PENDING), call(1, states.SUCCESS)]
    assert advance(progress(A, c, later, EACH, run=run, records=records), None) == (Stop((ids[1], CALLS[0], ids[2]), terminate),)


@pytest.mark.parametrize(("run", "least"), [(FAILING, NO_RETRY), (CANCELLING, TERMINATE)])
@pytest.mark.parametrize("asked", [0, NO_RETRY, TERMINATE])
def test_what_runs_is_asked_once_to_end_and_awaited(run: FlowRun, least: int, asked: int) -> None:
    records = [one("a", states.RUNNING, asked=asked), one("b", states.SUCCESS)]
    expected = (Stop((RUN.step_id("a", 0),), run is CANCELLING),) if asked < least else ()
    assert advance(progress(A, step("b", compensation=UNDO), run=run, records=records), None) == expected
    calls = [one("e", states.FAILURE), call(0, states.RUNNING, asked=asked), call(1, states.SUCCESS)]
    expected = (Stop((CALLS[0],), run is CANCELLING),) if asked < least else ()
    assert advance(progress(EACH, run=run, records=calls), None) == expected


def test_successful_steps_are_undone_one_after_another_the_last_first() -> None:
    ends = [one("a", clock=1), one("b", clock=2), one("c", states.FAILURE, error=NO)]
    steps = (A, B, step("c", after=("b",), compensation=UNDO))
    ids = {name: RUN.compensation_id(name) for name in "ab"}
    for run, ended in ((FAILING, "FAILED"), (CANCELLING, "CANCELLED")):
        for undone, expected in (
            ([], Compensate(B, ids["b"])),
            ([undo("b", states.PENDING)], Compensate(B, ids["b"])),
            ([undo("b", states.RUNNING)], None),
            ([undo("b", states.RETRY)], None),
            ([undo("b", states.SUCCESS)], Compensate(A, ids["a"])),
            ([undo("b", states.FAILURE, error=NO)], Compensate(A, ids["a"])),
            ([undo("b", states.SUCCESS), undo("a", states.SUCCESS)], End(ended, {})),
            ([undo("b", states.FAILURE, error=NO), undo("a", states.EXPIRED)],
             End(ended, {"b": "ValueError: no", "a": "it did not end well"})),
        ):  # fmt: skip
            found = advance(progress(*steps, run=run, records=[*ends, *undone]), None)
            assert found == ((expected,) if expected is not None else ())


def test_a_run_that_waits_after_a_failure_undoes_only_when_it_is_cancelled() -> None:
    ends = [one("a"), one("b", states.FAILURE)]
    assert advance(progress(A, B, run=FAILING, records=ends, wait=True), None) == (End("FAILED", {}),)
    cancelled = advance(progress(A, B, run=CANCELLING, records=ends, wait=True), None)
    assert cancelled == (Compensate(A, RUN.compensation_id("a")),)


def test_calls_of_an_earlier_compensation_of_a_map_are_stopped_and_awaited() -> None:
    ends = [one("e"), call(0, states.SUCCESS, clock=1), call(1, states.SUCCESS, clock=2)]
    run = FAILING._replace(undoing={"e": 1})
    first = [call_id(run.compensation_id("e", 0), n) for n in (0, 1)]
    assert advance(progress(EACH, run=run, records=ends), None) == (Stop((first[0], first[1]), False),)
    undone = [TaskRecord(first[0], states.SUCCESS), TaskRecord(first[1], states.RUNNING)]
    assert advance(progress(EACH, run=run, records=[*ends, *undone]), None) == (Stop((first[1],), False),)
    asked = [undone[0], undone[1]._replace(asked=NO_RETRY)]
    assert advance(progress(EACH, run=run, records=[*ends, *asked]), None) == ()
    over = [undone[0], TaskRecord(first[1], states.FAILURE)]
    assert advance(progress(EACH, run=run, records=[*ends, *over]), None) == (Compensate(EACH, run.compensation_id("e")),)


def test_the_end_of_a_map_is_the_last_end_of_its_calls() -> None:
    calls = [call(0, states.SUCCESS, clock=9), call(1, states.SUCCESS, clock=3)]
    others = [step("a", compensation=UNDO), step("b", compensation=UNDO), step("n")]
    ends = [one("a", clock=5), one("b", clock=11), one("n", clock=20), one("e", clock=1)]
    assert [found.name for found in to_compensate(progress(EACH, *others, records=[*ends, *calls]))] == ["b", "e", "a"]
    failed = [one("e", states.FAILURE), call(0, states.FAILURE), call(1, states.FAILURE)]
    assert to_compensate(progress(EACH, records=failed)) == []
    assert [found.name for found in to_compensate(progress(EACH, records=[*failed[:2], calls[1]]))] == ["e"]
    assert to_compensate(progress(A, records=[one("a", states.FAILURE)])) == []


def test_ends_at_one_time_are_undone_in_the_order_of_their_names() -> None:
    steps = [step(name, compensation=UNDO) for name in "bca"]
    assert [found.name for found in to_compensate(progress(*steps, records=[one(name) for name in "abc"]))] == ["c", "b", "a"]


def test_a_step_that_was_not_undone_has_its_reason() -> None:
    ends = [one("a", clock=1), one("b", clock=2)]
    bad = [undo("b", states.FAILURE, error=NO), undo("a", states.POISON)]
    assert uncompensated(progress(A, B, records=[*ends, *bad])) == {"b": "ValueError: no", "a": "it did not end well"}
    assert uncompensated(progress(A, B, records=[*ends, bad[0], undo("a", states.SUCCESS)])) == {"b": "ValueError: no"}
    assert uncompensated(progress(A, B, records=[*ends, undo("b", states.RUNNING)])) == {}
    by_hand = undone_by_hand(RUN._replace(undoing={"c": 2}), ["a", "b"])
    assert by_hand == RUN._replace(undoing={"c": 2, "a": BY_HAND, "b": BY_HAND})
    assert uncompensated(progress(A, B, run=by_hand, records=[*ends, *bad])) == {}


@pytest.mark.parametrize(("state", "again"), [("FAILED", "FAILING"), ("CANCELLED", "CANCELLING")])
def test_a_retry_of_a_run_with_steps_that_were_not_undone_only_undoes_them(state: str, again: str) -> None:
    run = RUN._replace(state=state, ended=9.0, undoing={"b": 1, "c": 4}, uncompensated={"b": "no"}, cause="why")
    bad = [undo("b", states.FAILURE, run), undo("a", states.FAILURE, run)]
    found = retried(progress(A, B, run=run, records=[one("a"), one("b"), *bad]))
    assert found == run._replace(state=again, ended=0.0, undoing={"b": 2, "c": 4, "a": 1}, uncompensated={})


def test_a_retry_begins_again_what_did_not_succeed_or_was_undone_and_what_needs_it() -> None:
    run = RUN._replace(
        state="FAILED", ended=9.0, cause="why", given_up={"t": "no"}, rounds={"a": 0, "c": 2, "x": 7}, whole={"c": 1, "x": 6},
        undoing={"z": 1}, uncompensated={"z": "no"},
    )  # fmt: skip
    steps = (
        step("d", after=("c",), retry=Retry(max_retries=1)), step("e", after=("d",)), A, step("c", retry=Retry(max_retries=3)),
        step("f", after=("a",)),
    )  # fmt: skip
    ends = [one("a"), one("c", states.FAILURE, 2), one("d"), one("e"), one("f")]
    poison = [ends[0], ends[1]._replace(state=states.POISON), *ends[2:]]
    found = retried(progress(*steps, run=run, records=poison))
    rounds = {"a": 0, "c": 6, "x": 7, "d": 2, "e": 1}
    again = run._replace(
        state="RUNNING", ended=0.0, cause="", given_up={}, rounds=rounds, whole={"c": 1, "x": 6, "d": 2, "e": 1}, undoing={},
        uncompensated={},
    )  # fmt: skip
    assert found == again
    undone = retried(progress(*steps, run=run, records=[*poison, undo("a", states.SUCCESS, run)]))
    rounds = {**rounds, "a": 1, "f": 1}
    assert undone == again._replace(rounds=rounds, whole={"c": 1, "x": 6, "d": 2, "e": 1, "a": 1, "f": 1})


def test_a_retry_begins_a_chain_again_in_any_order_of_the_file() -> None:
    names = [f"s{n}" for n in range(6)]
    chain = [step(name, after=(names[n - 1],) if n else ()) for n, name in enumerate(names)]
    run = RUN._replace(state="FAILED")
    ends = [one("s0", states.FAILURE), *(one(name) for name in names[1:])]
    for steps in (chain, chain[::-1]):
        assert retried(progress(*steps, run=run, records=ends)).rounds == dict.fromkeys(names, 1)
        assert retried(progress(*steps, run=run, records=ends)).whole == dict.fromkeys(names[1:], 1)


def test_a_step_is_undone_before_what_it_needed_through_steps_without_a_compensation() -> None:
    steps = (step("a", compensation=UNDO), step("b", after=("a",)), step("c", after=("b",), compensation=UNDO))
    ends = [one("a", clock=9), one("b", clock=5), one("c", clock=1)]
    assert [found.name for found in to_compensate(progress(*steps, records=ends))] == ["c", "a"]


def test_the_order_of_many_ways_between_steps_is_found_soon() -> None:
    layers = [[f"{side}{n:02}" for side in "xy"] for n in range(20)]
    steps = [step(name, after=tuple(layers[n - 1]) if n else (), compensation=UNDO) for n, layer in enumerate(layers) for name in layer]
    found = to_compensate(progress(*steps, records=[one(each.name) for each in steps]))
    assert [each.name for each in found] == [name for layer in reversed(layers) for name in reversed(layer)]


def test_a_step_without_a_compensation_stays_whatever_is_noted_as_undone() -> None:
    run = undone_by_hand(RUN._replace(state="FAILED"), ["n"])
    assert retried(progress(step("n"), step("z"), run=run, records=[one("n"), one("z", states.FAILURE)])).rounds == {"z": 1}


def test_what_waits_for_a_later_step_is_left_to_the_end_of_that_step() -> None:
    steps = (step("a"), step("b", after=("a",)), step("c", after=("b",)))
    ends = [one("a"), one("b")]
    assert (advance(progress(*steps, records=ends), "a"), len(advance(progress(*steps, records=ends), "b"))) == ([], 1)
