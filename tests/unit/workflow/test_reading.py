"""A workflow as it is read: each fault with its place and its words, and what is written reads back as the same."""

import re
from datetime import date
from typing import Any

import pytest

from sedano.model.messages.lineage import derived_id
from sedano.model.messages.message import BlobRef
from sedano.model.retry import NEVER, Retry
from sedano.model.workflow import flow_run_text
from sedano.model.workflow.conditions import condition, condition_text, holds
from sedano.model.workflow.definition import Condition, Definition, InputSpec, Ref, StepSpec, TaskCall, plain
from sedano.model.workflow.definition_reader import LONGEST_S, MOST_STEPS, Problem, read
from sedano.model.workflow.flow_run import BY_HAND, LONGEST_RUN_S, FlowRun, call_id

STEP = {"name": "a", "task": "t"}
NAME_FOR = "give letters, digits and underscores; 'item' is reserved for the item of a map"
NO_REF = "'$' is not a reference; write $name or $name.part, and $$"
RETRIES = "max_retries, interval_start, interval_step, interval_max, backoff, jitter"


def test_a_workflow_is_read_part_by_part() -> None:
    whole = {
        "format": 1, "workflow": "w", "version": 2, "on_failure": "wait", "doc": "Why.",
        "inputs": {"n": "int", "m": {"type": "any", "default": None}, "x": {}},
        "step": [
            STEP,
            {"name": "b", "task": "u", "args": [1, None, True, 0.5, "$a.x", "$$y", "z", [{"k": "$n"}]], "kwargs": {"k": "$m?"},
             "after": "$a", "when": "not $a.y > 3", "map": "$a.list", "retry": 2, "time_limit": 1, "compensate": "undo"},
            {"name": "c", "task": "v", "args": {"k": 1}, "kwargs": {"k": 2, "l": 3}, "after": ["a", "$b"], "when": ["$a", "$b"],
             "retry": {"max_retries": 1, "backoff": 2}, "time_limit": 2_592_000, "compensate": {"task": "undo", "args": ["$c"]}},
        ],
    }  # fmt: skip
    definition, problems = read(whole)
    assert problems == []
    inputs = {"n": InputSpec("int"), "m": InputSpec("any", True, None), "x": InputSpec()}
    args = (1, None, True, 0.5, Ref("a", ("x",)), "$y", "z", [{"k": Ref("n")}])
    assert definition == Definition("w", "2", inputs, (
        StepSpec("a", TaskCall("t")),
        StepSpec("b", TaskCall("u", args, {"k": Ref("m", (), True)}), ("a",), (Condition(Ref("a", ("y",)), ">", 3, True),),
                 Ref("a", ("list",)), Retry(max_retries=2), 1.0, TaskCall("undo")),
        StepSpec("c", TaskCall("v", (), {"k": 2, "l": 3}), ("a", "b"), (Condition(Ref("a")), Condition(Ref("b"))), None,
                 Retry(max_retries=1, backoff=2), 2_592_000.0, TaskCall("undo", (Ref("c"),))),
    ), "wait", "Why.")  # fmt: skip
    assert read(plain(definition)) == (definition, [])
    assert plain(definition)["step"][2]["when"] == [{"result": "$a", "negated": False}, {"result": "$b", "negated": False}]
    assert plain(definition)["step"][1]["when"] == [{"result": "$a.y", "negated": True, "is": ">", "value": 3}]
    assert [*definition.steps[1].takes()] == [Ref("a", ("x",)), Ref("n"), Ref("m", (), True), Ref("a", ("y",)), Ref("a", ("list",))]
    assert plain(definition)["step"][0] == {"name": "a", "task": "t", "args": [], "kwargs": {}}


def test_what_is_not_given_is_at_its_default_and_what_is_wrong_stays_as_it_is() -> None:
    assert read({"workflow": "w", "step": [STEP]})[0] == Definition("w", "1", {}, (StepSpec("a", TaskCall("t")),), "compensate", "")
    assert read({"workflow": "w", "step": [{**STEP, "args": ["$"]}]})[0].steps[0].call.args == ("$",)
    assert (MOST_STEPS, LONGEST_S) == (500, 2_592_000.0)


TOP: list[tuple[Any, tuple[Any, ...], str]] = [
    ([], (), "expected keys and values, got list"),
    ({"more": 1}, ("more",), "unknown key 'more'; known are workflow, version, on_failure, doc, inputs, step"),
    ({"format": 2}, ("format",), "format 2 is not supported; this version of sedano reads 1"),
    ({"workflow": "a b"}, ("workflow",), "workflow: 'a b' is not a name; give letters, digits and underscores"),
    ({"workflow": 5}, ("workflow",), "workflow: 5 is not a name; give letters, digits and underscores"),
    ({"on_failure": "stop"}, ("on_failure",), "on_failure: 'stop' is neither 'compensate' nor 'wait'"),
    ({"inputs": []}, ("inputs",), "inputs: expected a table of names and types"),
    ({"inputs": {"a b": "int"}}, ("inputs", "a b"), f"input 'a b' is not a name for an input; {NAME_FOR}"),
    ({"inputs": {"item": "int"}}, ("inputs", "item"), f"input 'item' is not a name for an input; {NAME_FOR}"),
    ({"inputs": {"n": {"type": "int", "more": 1}}}, ("inputs", "n", "more"), "unknown key 'more'; known are type, default"),
    ({"inputs": {"n": {"type": "int", "default": "x"}}}, ("inputs", "n"), "input 'n': the default is of type str, not int"),
    ({"step": {}}, ("step",), "steps are tables: write [[step]] before each"),
    ({"step": [STEP, 5]}, ("step",), "steps are tables: write [[step]] before each"),
    ({"step": []}, ("step",), "a workflow has 1 to 500 steps, not 0"),
    ({"step": [STEP] * 501}, ("step",), "a workflow has 1 to 500 steps, not 501"),
]


@pytest.mark.parametrize(("data", "path", "words"), TOP)
def test_a_fault_of_a_workflow_is_noted_with_its_place(data: Any, path: tuple[Any, ...], words: str) -> None:
    given = {"workflow": "w", "step": [STEP], **data} if isinstance(data, dict) else data
    found = read(given)[1]
    assert Problem(path, "", words) in found
    assert len(found) == (1 if isinstance(data, dict) else 3)
    assert read({"workflow": "w", "step": [STEP] * 500})[1] == []


@pytest.mark.parametrize(
    ("data", "path", "words"),
    [
        ({"more": 1}, ("more",), "unknown key 'more'; known are name, task, args, kwargs, after, when, map, retry, time_limit, compensate"),
        ({"task": ""}, ("task",), "task: it is missing; write the name of a task"),
        ({"task": 5}, ("task",), "task: it is missing; write the name of a task"),
        ({"args": 5}, ("args",), "args: expected a list, or a table of names and values"),
        ({"args": {"k": 1}, "kwargs": 5}, ("args",), "args: expected a list, or a table of names and values"),
        ({"kwargs": 5}, ("args",), "args: expected a list, or a table of names and values"),
        ({"args": [date(2026, 1, 1)]}, ("args", 0), "a date cannot be written as JSON; write it as a string"),
        ({"args": {"k": [1, date(2026, 1, 1)]}}, ("args", "k", 1), "a date cannot be written as JSON; write it as a string"),
        ({"args": [{"k": date(2026, 1, 1)}]}, ("args", 0, "k"), "a date cannot be written as JSON; write it as a string"),
        ({"args": ["$"]}, ("args", 0), f"{NO_REF} for a string that begins with a dollar sign"),
        ({"after": 5}, ("after",), "after: expected the names of steps"),
        ({"after": ["b", 5]}, ("after",), "after: expected the names of steps"),
        ({"map": 5}, ("map",), "map: 5 is not a reference to a list, such as $step.items"),
        ({"map": "x"}, ("map",), "map: 'x' is not a reference to a list, such as $step.items"),
        ({"map": "$"}, ("map",), f"map: {NO_REF} for a string that begins with a dollar sign"),
        ({"retry": "2"}, ("retry",), f"retry: expected a number, or a table of {RETRIES}"),
        ({"retry": True}, ("retry",), "retry: expected numbers"),
        ({"retry": {"max_retries": "2", "backoff": 2}}, ("retry",), "retry: expected numbers"),
        ({"retry": {"more": 1}}, ("retry", "more"), f"unknown key 'more'; known are {RETRIES}"),
        ({"retry": 20}, ("retry",), "retry: max_retries: 20 is too many: a step is started again at most 19 times"),
        *(({"time_limit": wrong}, ("time_limit",), f"time_limit: {wrong!r} is not between 1 and 2592000 seconds")
          for wrong in (0.5, 2_592_000.5, True, "5")),
        ({"compensate": 5}, ("compensate",), "compensate: expected the name of a task, or a table with task and args"),
        ({"compensate": {"task": "u", "more": 1}}, ("compensate", "more"), "unknown key 'more'; known are task, args, kwargs"),
        ({"compensate": {"task": ""}}, ("compensate", "task"), "task: it is missing; write the name of a task"),
        ({"compensate": {"task": "u", "args": ["$"]}}, ("compensate", "args", 0), NO_REF),
    ],
)  # fmt: skip
def test_a_fault_of_a_step_is_noted_with_its_place(data: dict[str, Any], path: tuple[Any, ...], words: str) -> None:
    definition, found = read({"workflow": "w", "step": [{**STEP, **data}]})
    assert [(one.path, one.step, one.text[: len(words)]) for one in found] == [(("step", 0, *path), "a", words)]
    (step,) = definition.steps
    assert step.name == "a"
    assert step.retry == NEVER
    assert step.time_limit is None


@pytest.mark.parametrize(("name", "shown"), [("a b", "a b"), ("item", "item"), ("x" * 65, "x" * 65), (5, "5"), (None, "2"), ("", "2")])
def test_a_step_without_a_name_has_its_number(name: Any, shown: str) -> None:
    definition, found = read({"workflow": "w", "step": [STEP, {"name": name, "task": "t"}]})
    assert found == [Problem(("step", 1, "name"), shown, f"{name!r} is not a name for a step; {NAME_FOR}")]
    assert definition.steps[1].name == shown


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("$a", Condition(Ref("a"))), ("not $a.b", Condition(Ref("a", ("b",)), negated=True)), ("$a == 1", Condition(Ref("a"), "==", 1)),
        ('$a in ["é"]', Condition(Ref("a"), "in", ["é"])), ("not $a? != null", Condition(Ref("a", (), True), "!=", None, True)),
    ],
)  # fmt: skip
def test_a_condition_is_written_as_it_was_read(text: str, asked: Condition) -> None:
    assert condition(f" {text} ") == asked
    assert condition_text(asked) == text


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (5, '5 is not a condition; write "$step", "not $step" or "$step.part > 100" with one of ==, !=, <, <=, >, >=, in, contains'),
        ("a > 1", "'a > 1' is not a condition; write "),
        ("$$a > 1", "'$$a > 1' does not compare a result; the left side must be a reference such as $step.part"),
        ("$a > x", "'x' is not a value; write a number, true, false, null, a list, or a string in double quotes"),
        ({}, '{} is not a condition; write "$step.part > 100"'),
        ({"result": "a"}, "{'result': 'a'} is not a condition; write "),
        ({"result": "$a", "more": 1}, "{'result': '$a', 'more': 1} is not a condition; write "),
        ({"result": "$a", "is": "~"}, "{'result': '$a', 'is': '~'} is not a condition; write "),
    ],
)
def test_what_is_no_condition_says_what_to_write(given: Any, words: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(words)}"):
        condition(given)


def test_a_condition_in_a_table() -> None:
    assert condition({"result": "$a"}) == Condition(Ref("a"), "", None, False)
    assert condition({"result": "$a", "is": ">", "value": 3, "negated": True}) == Condition(Ref("a"), ">", 3, True)


@pytest.mark.parametrize(
    ("asked", "value", "expected"),
    [("$a", 1, True), ("$a", 0, False), ("not $a", 0, True), ("not $a", 1, False), ("$a > 3", 4, True), ("$a > 3", 3, False),
     ("not $a > 3", 3, True), ("$a in [1, 2]", 2, True), ("$a contains 2", [1, 2], True), ("$a contains 2", [1], False)],
)  # fmt: skip
def test_whether_a_condition_holds(asked: str, value: Any, expected: bool) -> None:
    assert holds(condition(asked), value) is expected


def test_what_cannot_be_compared_is_named() -> None:
    with pytest.raises(ValueError, match=r"^\$a is of type str and cannot be compared by > with int$"):
        holds(condition("$a > 3"), "x")


RUN = FlowRun("run", "w", "1", BlobRef("d", 5), 1.5, rounds={"a": 2}, undoing={"a": 3}, inputs_ref=BlobRef("i", 6))


def test_the_ids_of_a_run_follow_from_its_id() -> None:
    assert RUN.step_id("a", 4) == derived_id("run", "step/4/a")
    assert RUN.compensation_id("a") == derived_id("run", "compensate/2.3/a")
    assert RUN.compensation_id("a", 0) == derived_id("run", "compensate/2/a")
    assert RUN.compensation_id("a", 1) == derived_id("run", "compensate/2.1/a")
    assert RUN.compensation_id("b") == derived_id("run", "compensate/0/b")
    assert call_id("t", 3) == derived_id(derived_id("t", "step/0"), 3)
    assert (BY_HAND, LONGEST_RUN_S) == (-1, 43 * 86_400)


@pytest.mark.parametrize("run", [RUN, RUN._replace(inputs=None), RUN._replace(inputs_ref=None, whole={"b": 1}, given_up={"t": "why"})])
def test_a_run_is_read_back_as_it_was_written(run: FlowRun) -> None:
    text = flow_run_text.write(run)
    assert flow_run_text.read(text) == run
    assert text.startswith('{"run_id":"run","workflow":"w","version":"1","definition":["d",5],"started":1.5,"inputs":')
    assert ('"inputs_ref":["i",6]' in text) == (run.inputs_ref is not None)
