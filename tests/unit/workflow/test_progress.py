"""What the records of a flow run say about each step: its state, its values, and the calls of a `map` that count."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from sedano.model import states
from sedano.model.ledger.records import ErrorRecord, TaskRecord
from sedano.model.messages.message import BlobRef
from sedano.model.retry import Retry
from sedano.model.workflow.conditions import condition
from sedano.model.workflow.definition import Definition, Ref, StepSpec, TaskCall
from sedano.model.workflow.flow_run import BY_HAND, FlowRun, call_id
from sedano.model.workflow.progress import FlowProgress, Skipped, Status, reason_text

RUN = FlowRun("r", "w", "1", BlobRef("0" * 64, 1), 0.0)
NO = ErrorRecord("ValueError", "no")
IGNORED = ErrorRecord("Ignore", "not needed")


def step(name: str, *args: Any, **more: Any) -> StepSpec:
    """Return a step of the task `t`."""
    return StepSpec(name, TaskCall("t", args, more.pop("kwargs", {})), **more)


def record(task_id: str, state: Any = states.SUCCESS, **more: Any) -> TaskRecord:
    """Return the record of a task that a message began."""
    return TaskRecord(task_id, state, **{"message_id": "m", **more})


def progress(*steps: StepSpec, run: FlowRun = RUN, records: Sequence[TaskRecord] = (), values: Any = None, **inputs: Any) -> FlowProgress:
    """Return the progress of a run of *steps*; *values* has the values of successful tasks by id."""
    return FlowProgress(
        Definition("w", steps=steps), run, inputs, {one.task_id: one for one in records}, lambda r: (values or {})[r.task_id]
    )


ID = RUN.step_id("a", 0)


@pytest.mark.parametrize(
    ("one", "state", "detail"),
    [
        (None, "READY", ""),
        (record(ID, states.PENDING), "READY", ""),
        (record(ID, states.RUNNING), "RUNNING", ""),
        (record(ID, states.RETRY), "RETRYING", ""),
        (record(ID), "SUCCEEDED", ""),
        (record(ID, error=NO), "SUCCEEDED", ""),
        (record(ID, states.FAILURE, error=NO), "FAILED", "ValueError: no"),
        (record(ID, states.POISON, error=NO), "FAILED", "ValueError: no"),
        (record(ID, states.EXPIRED), "FAILED", ""),
        (record(ID, states.REVOKED), "FAILED", "revoked"),
        (record(ID, states.REVOKED, message_id=""), "FAILED", "revoked"),
    ],
)
def test_the_state_of_a_step_is_that_of_its_record(one: TaskRecord | None, state: str, detail: str) -> None:
    kept = one if one is not None and one.state != states.PENDING else None
    found = progress(step("a"), records=[one] if one is not None else [])
    assert found.status("a") == Status(state, ID, 0, kept, detail)
    assert found.statuses() == {"a": found.status("a")}


@pytest.mark.parametrize("state", ["FAILING", "CANCELLING", "FAILED", "CANCELLED", "RUNNING", "PAUSED", "SUCCEEDED"])
def test_a_task_that_was_revoked_before_it_ran_is_cancelled_when_its_run_is_wound_up(state: str) -> None:
    run, wound_up = RUN._replace(state=state), state in ("FAILING", "CANCELLING", "FAILED", "CANCELLED")
    for one, expected in (
        (record(ID, states.REVOKED, message_id=""), "CANCELLED" if wound_up else "FAILED"),
        (record(ID, states.REVOKED), "FAILED"),
        (record(ID, states.FAILURE, message_id=""), "FAILED"),
    ):
        found = progress(step("a"), run=run, records=[one]).status("a")
        assert found == Status(expected, ID, 0, one, "revoked" if one.state == states.REVOKED else "")


def test_the_reason_of_an_error_is_its_type_and_300_characters_of_its_words() -> None:
    assert reason_text(record("t", states.FAILURE, error=ErrorRecord("KeyError", "x" * 301))) == f"KeyError: {'x' * 300}"
    assert reason_text(record("t", states.REVOKED, error=IGNORED)) == "Ignore: not needed"
    assert (reason_text(record("t", states.REVOKED)), reason_text(record("t", states.FAILURE))) == ("revoked", "")


LIMITED = {"time_limit": 5.0}


@pytest.mark.parametrize(
    ("first", "again", "more"),
    [
        (record(ID, states.FAILURE, error=NO), True, {}),
        (record(ID, states.FAILURE), True, LIMITED),
        (record(ID, states.FAILURE, error=IGNORED), True, LIMITED),
        (record(ID, states.POISON, error=NO), False, LIMITED),
        (record(ID, states.REVOKED), False, {}),
        (record(ID, states.REVOKED), True, LIMITED),
        (record(ID, states.EXPIRED, error=NO), True, LIMITED),
        (record(ID, states.EXPIRED, error=NO), False, {}),
        (record(ID, states.REVOKED, error=IGNORED), False, LIMITED),
        (record(ID, states.SUCCESS), False, LIMITED),
    ],
)
def test_a_step_begins_again_after_a_failure_and_after_its_time_limit(first: TaskRecord, again: bool, more: dict[str, Any]) -> None:
    found = progress(step("a", retry=Retry(max_retries=2), **more), records=[first]).status("a")
    ended = "SUCCEEDED" if first.state == states.SUCCESS else "FAILED"
    assert found == (Status("RETRYING", RUN.step_id("a", 1), 1) if again else Status(ended, ID, 0, first, reason_text(first)))
    assert progress(step("a", **more), records=[first]).status("a") == Status(ended, ID, 0, first, reason_text(first))


@pytest.mark.parametrize(
    ("last", "state"),
    [
        (None, "RETRYING"), (states.PENDING, "RETRYING"), (states.RETRY, "RETRYING"), (states.RUNNING, "RUNNING"),
        (states.SUCCESS, "SUCCEEDED"), (states.FAILURE, "FAILED"), (states.POISON, "FAILED"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("begun", [0, 3])
def test_a_step_that_begins_again_has_the_state_of_its_last_start(last: Any, state: str, begun: int) -> None:
    run = RUN._replace(rounds={"a": begun} if begun else {})
    ids = [run.step_id("a", begun + n) for n in range(3)]
    failed = [record(one, states.FAILURE, error=NO) for one in ids[:2]]
    one = record(ids[2], last) if last is not None else None
    found = progress(step("a", retry=Retry(max_retries=2)), run=run, records=[*failed, *([one] if one is not None else [])])
    kept = one if last not in (None, states.PENDING) else None
    assert found.status("a") == Status(state, ids[2], begun + 2, kept, "")


def test_a_new_round_begins_without_the_records_of_the_round_before() -> None:
    run = RUN._replace(rounds={"a": 1})
    found = progress(step("a"), run=run, records=[record(ID, states.FAILURE)])
    assert found.status("a") == Status("READY", run.step_id("a", 1), 1)


def test_a_step_that_could_not_be_published_has_failed_with_the_reason() -> None:
    second = RUN.step_id("a", 1)
    run = RUN._replace(given_up={second: "too large"})
    found = progress(step("a", retry=Retry(max_retries=2)), run=run, records=[record(ID, states.FAILURE)])
    assert found.status("a") == Status("FAILED", second, 1, None, "too large")


SKIPPED_A = "it takes $a, and that step was skipped"


@pytest.mark.parametrize(
    ("later", "state", "detail"),
    [
        (step("b", Ref("a")), "SKIPPED", SKIPPED_A),
        (step("b", Ref("a", (), True)), "READY", ""),
        (step("b", after=("a",)), "READY", ""),
        (step("b", kwargs={"k": [{"deep": Ref("a", ("x",))}]}), "SKIPPED", "it takes $a.x, and that step was skipped"),
        (step("b", when=(condition("$a > 1"),)), "SKIPPED", SKIPPED_A),
        (step("b", when=(condition("not $a?"),)), "READY", ""),
        (step("b", Ref("item"), each=Ref("a")), "SKIPPED", SKIPPED_A),
        (step("b", Ref("item"), each=Ref("a", (), True)), "FAILED", "map: $a? is of type NoneType, not a list"),
        (step("b", when=(condition("$n > 1"), condition("$n > 9"))), "SKIPPED", "its condition does not hold"),
        (step("b", Ref("n", ("x",))), "FAILED", "$n.x: int has no part 'x'"),
        (step("b", when=(condition('$n > "x"'),)), "FAILED", "$n is of type int and cannot be compared by > with str"),
        (step("b", Ref("item", ("x",)), each=Ref("list")), "FAILED", "$item.x: int has no part 'x'"),
        (step("b", Ref("item", ("x",)), each=Ref("first")), "READY", ""),
        (step("b", Ref("item", ("x",)), each=Ref("none")), "READY", ""),
        (step("b", Ref("item"), each=Ref("n")), "FAILED", "map: $n is of type int, not a list"),
    ],
)
def test_what_a_step_takes_decides_whether_it_begins(later: StepSpec, state: str, detail: str) -> None:
    inputs: dict[str, Any] = {"n": 5, "list": [1, 2], "first": [{"x": 1}, 2], "none": []}
    for run_state, expected in (("RUNNING", state), ("FAILED", "NOT_RUN" if state == "READY" else state)):
        run = RUN._replace(state=run_state)
        found = progress(step("a", when=(condition("not $n"),)), later, run=run, **inputs)
        assert found.status("b") == Status(expected, RUN.step_id("b", 0), 0, None, detail)
        assert found.status("a") == Status("SKIPPED", ID, 0, None, "its condition does not hold")


@pytest.mark.parametrize("state", ["RUNNING", "PAUSED", "FAILING", "CANCELLING", "SUCCEEDED", "FAILED", "CANCELLED"])
def test_a_step_waits_for_all_that_it_needs_until_the_run_has_ended(state: str) -> None:
    run, ended = RUN._replace(state=state), state in ("SUCCEEDED", "FAILED", "CANCELLED")
    steps = (step("a"), step("b"), step("c", Ref("a"), after=("b",)), step("d", after=("c",)))
    found = progress(*steps, run=run, records=[record(ID)], values={ID: 1})
    assert list(found.statuses()) == ["a", "b", "c", "d"]
    assert [one.state for one in found.statuses().values()][1:] == (["NOT_RUN"] * 3 if ended else ["READY", "WAITING", "WAITING"])
    assert found.status("c") == Status("NOT_RUN" if ended else "WAITING", run.step_id("c", 0), 0)


def test_a_chain_of_a_thousand_steps_has_a_state() -> None:
    chain = [step("s0"), *(step(f"s{n}", after=(f"s{n - 1}",)) for n in range(1, 1000))]
    assert progress(*chain).status("s999").state == "WAITING"


def test_references_are_replaced_by_their_values() -> None:
    found = progress(step("a"), step("b"), records=[record(ID)], values={ID: {"x": [1, {"y": 2}]}}, n=[7])
    given = {"k": [Ref("a", ("x", 1, "y")), (Ref("n"), "text", 5)], "l": {"deep": Ref("n", (0,))}, "m": Ref("item", ("z",))}
    assert found.resolve(given, {"z": 3}) == {"k": [2, [[7], "text", 5]], "l": {"deep": 7}, "m": 3}
    assert found.resolve(Ref("b", (), True)) is None
    failed = progress(step("a"), records=[record(ID, states.FAILURE)], values={ID: 5})
    assert failed.resolve(Ref("a", (), True)) is None
    with pytest.raises(Skipped, match=r"^it takes \$b, and that step was skipped$"):
        found.resolve(Ref("b"))
    for path, words in ((("x", 2), "list has no part 2"), (("q",), "dict has no part 'q'"), (("x", "q"), "list has no part 'q'")):
        with pytest.raises(ValueError, match=rf"^\$a\.{'.'.join(map(str, path)).replace('.', '[.]')}: {words}$"):
            found.resolve(Ref("a", path))
    assert found.arguments(TaskCall("t", (Ref("item"), 1), {"k": Ref("n")}), 4) == ([4, 1], {"k": [7]})
    assert found.arguments(TaskCall("t", (Ref("n"),))) == ([[7]], {})


def test_the_value_of_a_step_is_read_once_and_an_input_comes_before_a_step() -> None:
    read: list[str] = []

    def value(one: TaskRecord) -> int:
        read.append(one.task_id)
        return 5

    found = FlowProgress(Definition("w", steps=(step("a"),)), RUN, {"n": 1}, {ID: record(ID)}, value)
    assert [found.resolve(Ref("a")), found.resolve([Ref("a"), Ref("n")]), found.value_of(record(ID))] == [5, [5, 1], 5]
    assert read == [ID]
    other = found.knowing("a", 8)
    assert (other.resolve([Ref("a"), Ref("n")]), found.resolve([Ref("a"), Ref("n")])) == ([8, 1], [5, 1])


UNDO = RUN.compensation_id("a")


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (None, Status("READY", UNDO)),
        (record(UNDO, states.PENDING), Status("READY", UNDO)),
        (record(UNDO, states.RUNNING), Status("RUNNING", UNDO, 0, record(UNDO, states.RUNNING))),
        (record(UNDO, states.RETRY), Status("RETRYING", UNDO, 0, record(UNDO, states.RETRY))),
        (record(UNDO), Status("SUCCEEDED", UNDO, 0, record(UNDO))),
        (record(UNDO, states.FAILURE, error=NO), Status("FAILED", UNDO, 0, record(UNDO, states.FAILURE, error=NO), "ValueError: no")),
        (record(UNDO, states.REVOKED), Status("FAILED", UNDO, 0, record(UNDO, states.REVOKED), "revoked")),
    ],
)
def test_the_state_of_a_compensation_is_that_of_its_record(one: TaskRecord | None, expected: Status) -> None:
    found = progress(step("a", compensation=TaskCall("u")), records=[one] if one is not None else [])
    assert found.compensation("a") == expected
    by_hand = progress(step("a"), run=RUN._replace(undoing={"a": BY_HAND}), records=[one] if one is not None else [])
    assert by_hand.compensation("a") == Status("SUCCEEDED", by_hand.run.compensation_id("a"), 0, None, "undone by hand")
    given_up = progress(step("a"), run=RUN._replace(given_up={UNDO: "too large"}), records=[one] if one is not None else [])
    assert given_up.compensation("a") == Status("FAILED", UNDO, 0, None, "too large")


EACH = step("a", Ref("item"), each=Ref("list"), compensation=TaskCall("u"), retry=Retry(max_retries=2))
LIST = ["w", "x", "y", "z"]


def whole(attempt: int, run: FlowRun = RUN) -> str:
    """Return the task id of a start of the map."""
    return run.step_id("a", attempt)


def ends(task_id: str, states_of_calls: Mapping[int, Any]) -> list[TaskRecord]:
    """Return the records of the calls of one start, by position."""
    return [record(call_id(task_id, position), state) for position, state in states_of_calls.items()]


def test_the_calls_of_a_map_that_succeeded_are_not_made_again() -> None:
    first = ends(whole(0), {0: states.FAILURE, 1: states.SUCCESS, 2: states.RUNNING, 3: states.SUCCESS})
    found = progress(EACH, records=[*first, record(whole(0), states.FAILURE)], list=LIST)
    assert found.status("a") == Status("RETRYING", whole(1), 1)
    assert found.calls(EACH) == {0: call_id(whole(1), 0), 2: call_id(whole(1), 1)}
    assert found.succeeded(EACH) == {1: first[1], 3: first[3]}
    assert (found.succeeded(EACH, 0), found.succeeded(EACH, 1)) == ({}, {1: first[1], 3: first[3]})
    assert found.counted(EACH) == (2, 0, 4)
    assert found.may_have_called(EACH) == [call_id(whole(attempt), n) for attempt in (0, 1) for n in range(4)]
    second = ends(whole(1), {0: states.POISON, 1: states.SUCCESS})
    later = progress(EACH, records=[*first, record(whole(0), states.FAILURE), *second], list=LIST)
    assert later.succeeded(EACH) == {1: first[1], 2: second[1], 3: first[3]}
    assert later.calls(EACH) == found.calls(EACH)
    assert later.counted(EACH) == (3, 1, 4)


def test_calls_that_run_are_neither_done_nor_failed() -> None:
    calls = ends(whole(0), {0: states.RUNNING, 1: states.RETRY, 2: states.SUCCESS, 3: states.REVOKED})
    assert progress(EACH, records=calls, list=LIST).counted(EACH) == (1, 1, 4)


def test_calls_before_a_compensation_do_not_count() -> None:
    run = RUN._replace(rounds={"a": 2}, whole={"a": 1})
    calls = [one for attempt in range(3) for one in ends(whole(attempt), {attempt: states.SUCCESS})]
    found = progress(EACH, run=run, records=calls, list=LIST)
    assert found.status("a") == Status("READY", whole(2), 2)
    assert found.succeeded(EACH) == {1: calls[1], 3: calls[2]}
    assert found.may_have_called(EACH) == [call_id(whole(attempt), n) for attempt in (1, 2) for n in range(4)]


def test_calls_of_a_start_after_the_current_one_do_not_count() -> None:
    found = progress(EACH, records=[record(whole(0)), *ends(whole(1), {0: states.SUCCESS})], list=LIST)
    assert (found.status("a").attempt, found.succeeded(EACH), found.counted(EACH)) == (0, {}, (0, 0, 4))


@pytest.mark.parametrize(
    ("each", "when", "size"),
    [(Ref("list"), "$n", 4), (Ref("list"), "not $n", 0), (Ref("n"), "$n", 0), (Ref("a", (), True), "$n", 0), (None, "$n", 0)],
)
def test_a_map_has_a_size_when_its_items_are_known(each: Ref | None, when: str, size: int) -> None:
    one = step("b", Ref("item"), each=each, when=(condition(when),))
    found = progress(step("a"), one, list=LIST, n=5)
    assert found.counted(one) == (0, 0, size)
    assert found.calls(one) == {n: call_id(RUN.step_id("b", 0), n) for n in range(size)}


def test_a_map_that_waits_has_no_size_yet() -> None:
    one = step("b", Ref("item"), each=Ref("list"), after=("a",))
    assert progress(step("a"), one, list=LIST).counted(one) == (0, 0, 0)
    assert progress(step("a"), one, records=[record(ID)], list=LIST).counted(one) == (0, 0, 4)


def test_a_map_over_a_value_that_a_skipped_step_lacks_has_no_size() -> None:
    one = step("b", Ref("item"), each=Ref("a"))
    assert progress(step("a", when=(condition("not $n"),)), one, n=1).counted(one) == (0, 0, 0)


def test_the_items_of_a_map_are_a_list() -> None:
    found = progress(EACH, list=LIST, n={"k": 1})
    assert found.items(EACH) == LIST
    with pytest.raises(ValueError, match=r"^map: \$n is of type dict, not a list$"):
        found.items(step("b", each=Ref("n")))


def test_a_compensation_undoes_the_calls_that_no_earlier_one_undid() -> None:
    run = RUN._replace(undoing={"a": 2})
    calls = ends(whole(0), {0: states.SUCCESS, 1: states.FAILURE, 2: states.SUCCESS, 3: states.SUCCESS})
    undone = ends(run.compensation_id("a", 0), {0: states.SUCCESS, 1: states.FAILURE})
    again = ends(run.compensation_id("a", 1), {0: states.RUNNING, 1: states.SUCCESS})
    found = progress(EACH, run=run, records=[*calls, record(whole(0)), *undone, *again], list=LIST)
    assert found.to_undo(EACH, 0) == {0: calls[0], 2: calls[2], 3: calls[3]}
    assert found.to_undo(EACH, 1) == {2: calls[2], 3: calls[3]}
    assert found.to_undo(EACH) == {2: calls[2]}
    first, second = run.compensation_id("a", 0), run.compensation_id("a", 1)
    assert found.undid(EACH) == [*(call_id(first, n) for n in range(3)), *(call_id(second, n) for n in range(2))]
    assert found.may_have_undone(EACH) == [call_id(one, n) for one in (first, second) for n in range(4)]
    without = progress(EACH, records=[*calls, record(whole(0)), *undone], list=LIST)
    assert (without.undid(EACH), without.may_have_undone(EACH), list(without.to_undo(EACH))) == ([], [], [0, 2, 3])
