"""The rule of what comes next, in random workflows and random schedules: nothing too early, nothing twice, nothing for ever."""

import random
from typing import Any

import pytest

from sedano.model import states
from sedano.model.ledger.records import TaskRecord
from sedano.model.retry import Retry
from sedano.model.workflow.conditions import condition
from sedano.model.workflow.definition import Definition, InputSpec, Ref, StepSpec, TaskCall
from sedano.model.workflow.flow_run import ENDED, FlowRun
from sedano.model.workflow.next_actions import Publish, advance, retried, to_compensate
from sedano.model.workflow.progress import FlowProgress
from tests.unit.workflow.toy import REF, Toy

SEEDS = range(200)


def random_definition(dice: random.Random) -> Definition:
    """A workflow of up to nine steps, each of which needs some of those before it."""
    steps: list[StepSpec] = []
    for number in range(dice.randint(1, 9)):
        before = [s.name for s in steps]
        taken = dice.sample(before, min(len(before), dice.choice([0, 1, 1, 2, 3])))
        maybe = dice.random() < 0.3
        args = tuple(Ref(name, (), maybe) for name in taken[:2])
        when = (condition(f"${dice.choice(taken)} > 0"),) if taken and dice.random() < 0.2 else ()
        each = Ref("items") if dice.random() < 0.15 else None
        steps.append(
            StepSpec(
                f"s{number}", TaskCall("t", (*args, Ref("item")) if each else args), tuple(taken[2:]), when, each,
                Retry(max_retries=dice.choice([0, 0, 1, 2])), None, TaskCall("u") if dice.random() < 0.6 else None,
            )
        )  # fmt: skip
    return Definition("w", "1", {"n": InputSpec("int"), "items": InputSpec("list[int]")}, tuple(steps), dice.choice(["compensate", "wait"]))


def compensated_in_order(toy: Toy) -> None:
    """Every step that ended well and has a compensation was undone once, and the later end first."""
    with_one = {s.name for s in toy.definition.steps if s.compensation is not None}
    expected = [name for name in dict.fromkeys(n.partition("[")[0] for n in reversed(toy.well)) if name in with_one]
    wanted = toy.run.state == "CANCELLED" or (toy.run.state == "FAILED" and toy.definition.on_failure == "compensate")
    assert toy.undone == (expected if wanted else [])


@pytest.mark.parametrize("seed", SEEDS)
def test_a_run_ends_with_every_step_begun_in_its_time_and_once(seed: int) -> None:
    dice = random.Random(seed)
    toy = Toy(random_definition(dice), dice, odds=dice.choice([0.0, 0.05, 0.3]))
    toy.play()
    assert toy.violations == []
    assert toy.run.state in ENDED
    ends = [r for r in toy.records.values() if r.state not in states.TERMINAL]
    assert ends == [], "a task did not end"
    assert len(set(toy.well)) == len(toy.well), "a step or an item ended well twice"
    compensated_in_order(toy)
    statuses = {name: s.state for name, s in toy.progress().statuses().items()}
    if toy.run.state == "SUCCEEDED":
        assert set(statuses.values()) <= {"SUCCEEDED", "SKIPPED"}
    else:
        assert "FAILED" in statuses.values()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_cancelled_run_stops_compensates_and_ends(seed: int) -> None:
    dice = random.Random(seed)
    toy = Toy(random_definition(dice), dice, odds=0.0)
    for _ in range(dice.randint(0, 25)):
        toy.move()
    toy.cancel()
    begun = len(toy.began)
    toy.play()
    assert toy.violations == []
    assert toy.run.state in ENDED
    if toy.run.state == "CANCELLED":
        compensated_in_order(toy)
    assert begun <= len(toy.began)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_failed_run_that_is_retried_ends_well_and_repeats_only_what_was_undone(seed: int) -> None:
    dice = random.Random(seed)
    toy = Toy(random_definition(dice), dice, odds=0.4, menu=(0, 1, 7))
    toy.play()
    kept = [name for name in toy.well if name.partition("[")[0] not in toy.undone]
    undone = set(toy.undone)
    toy.odds = 0.0
    if toy.left:
        assert set(toy.run.uncompensated) == toy.left
        begun = len(toy.began)
        played_again(toy)
        assert (toy.run.state, dict(toy.run.uncompensated), len(toy.began)) == ("FAILED", {}, begun)
        assert toy.undone[-len(toy.left) :] == [name for name in toy.undone[: -len(toy.left)] if name in toy.left]
    if toy.run.state != "SUCCEEDED":
        played_again(toy)
    assert (toy.run.state, toy.violations) == ("SUCCEEDED", [])
    needs = toy.definition.needs()
    for name in kept:
        step = name.partition("[")[0]
        again = undone & {n for n in needs if _leads(needs, n, step)}
        assert toy.well.count(name) <= (2 if again else 1), name


def played_again(toy: Toy) -> None:
    """Retry a run, and play it to its end."""
    toy.run = retried(toy.progress())._replace(revision=toy.run.revision + 1)
    toy.questions = [None]
    toy.play()


def _leads(needs: dict[str, tuple[str, ...]], first: str, last: str) -> bool:
    return any(before == first or _leads(needs, first, before) for before in needs[last])


def fixed(*steps: StepSpec, values: dict[str, Any] | None = None, **run: Any) -> FlowProgress:
    """A run of *steps* in which those in *values* have ended well."""
    flow = FlowRun("r", "w", "1", REF, 0.0, **run)
    from_step = {flow.step_id(name, 0): value for name, value in (values or {}).items()}
    records = {i: states_record(i) for i in from_step}
    return FlowProgress(Definition("w", steps=steps), flow, {}, records, lambda r: from_step[r.task_id])


def states_record(task_id: str) -> TaskRecord:
    """A record that succeeded."""
    return TaskRecord(task_id, states.SUCCESS, message_id="m")


MIDDLE = (StepSpec(f"b{n}", TaskCall("t", (Ref("a"),))) for n in range(5))
WIDE = (StepSpec("a", TaskCall("t")), *MIDDLE, StepSpec("c", TaskCall("t"), ("b0", "b1")))


def test_the_end_of_one_step_publishes_only_what_waits_for_it() -> None:
    progress = fixed(*WIDE, values={"a": 1, "b0": 1})
    assert advance(progress, "b0") == []
    assert [a.step.name for a in advance(progress, "a") if isinstance(a, Publish)] == ["b1", "b2", "b3", "b4"]
    both = fixed(*WIDE, values={"a": 1, "b0": 1, "b1": 2})
    assert [a.step.name for a in advance(both, "b1") if isinstance(a, Publish)] == ["c"]


def test_what_waits_for_a_skipped_step_is_reached_through_it() -> None:
    on = (condition("$a > 5"),)
    before = (StepSpec("a", TaskCall("t")), StepSpec("b", TaskCall("t"), (), on))
    steps = (*before, StepSpec("c", TaskCall("t"), ("b",)), StepSpec("d", TaskCall("t", (Ref("b"),))))
    progress = fixed(*steps, values={"a": 1})
    assert [a.step.name for a in advance(progress, "a") if isinstance(a, Publish)] == ["c"]
    assert {n: s.state for n, s in progress.statuses().items()} == {"a": "SUCCEEDED", "b": "SKIPPED", "c": "READY", "d": "SKIPPED"}


def test_a_part_that_is_not_there_fails_the_step_that_asks_for_it() -> None:
    asking = StepSpec("b", TaskCall("t", (Ref("a", ("total",)),)))
    steps = (StepSpec("a", TaskCall("t")), asking, StepSpec("c", TaskCall("t"), (), (condition('$a > "x"'),)))
    progress = fixed(*steps, values={"a": 1})
    assert progress.status("b").detail == "$a.total: int has no part 'total'"
    assert progress.status("c").detail == "$a is of type int and cannot be compared by > with str"
    assert advance(progress, "a") == (("step b: $a.total: int has no part 'total'",),)


def test_a_paused_run_begins_nothing() -> None:
    assert advance(fixed(*WIDE, values={"a": 1}, state="PAUSED"), "a") == ()


def test_a_retried_run_keeps_what_ended_well_and_was_not_undone() -> None:
    undone = StepSpec("b", TaskCall("t"), ("a",), compensation=TaskCall("u"))
    steps = (StepSpec("a", TaskCall("t")), undone, StepSpec("c", TaskCall("t"), ("b",)), StepSpec("d", TaskCall("t")))
    progress = fixed(*steps, values={"a": 1, "b": 1, "c": 1}, state="FAILED")
    assert retried(progress).rounds == {"d": 1}
    undo = progress.run.compensation_id("b")
    undone = FlowProgress(progress.definition, progress.run, {}, {**progress.records, undo: states_record(undo)}, lambda r: 1)
    assert retried(undone).rounds == {"b": 1, "c": 1, "d": 1}
    assert retried(undone).whole == {"b": 1, "c": 1}


def test_a_step_is_compensated_before_what_it_needed_whatever_the_clocks_say() -> None:
    order = (("a", ()), ("b", ()), ("c", ("a",)), ("d", ("c",)))
    steps = [StepSpec(name, TaskCall("t"), after, compensation=TaskCall("u")) for name, after in order]
    flow = FlowRun("r", "w", "1", REF, 0.0, state="FAILING")
    clocks = {"a": 9, "b": 5, "c": 7, "d": 1}
    records = {i: TaskRecord(i, states.SUCCESS, message_id="m", clock=clocks[n]) for n in clocks for i in [flow.step_id(n, 0)]}
    progress = FlowProgress(Definition("w", steps=tuple(steps)), flow, {}, records, lambda _: None)
    assert [step.name for step in to_compensate(progress)] == ["b", "d", "c", "a"]
