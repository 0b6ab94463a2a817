"""A definition is read and checked in one go: every fault is told, with where it stands."""

from typing import Any, TypedDict
from uuid import UUID

import pytest

from sedano.model.workflow import value_types as kinds
from sedano.model.workflow.definition import Definition, Ref, digest, plain
from sedano.model.workflow.definition_reader import MOST_STEPS, Problem, read
from sedano.model.workflow.validation import Known, check

TOO_MANY = "retry: max_retries: {} is too many: a step is started again at most 19 times; give the policy to its task"


class Price(TypedDict):
    """What an order costs."""

    total: int
    lines: list[str]


def price(order: int, rebate: float = 0.0) -> Price:
    """Price an order."""
    raise NotImplementedError


def charge(amount: int, note: str | None = None) -> UUID:
    """Charge a card."""
    raise NotImplementedError


async def pack(line: str, *rest: str, **more: int) -> int:
    """Pack one line."""
    raise NotImplementedError


def anything(value: Any, key: Any = None) -> Any:
    """Say nothing about types."""
    raise NotImplementedError


TASKS = {f.__name__: Known(f) for f in (price, charge, pack, anything)}


def problems(*steps: dict[str, Any], inputs: dict[str, Any] | None = None, tasks: dict[str, Known] | None = None) -> list[str]:
    """Everything that is wrong with a workflow of these steps."""
    definition, found = read({"workflow": "w", "inputs": inputs or {}, "step": list(steps)})
    return [f"{p.step}: {p.text}" for p in [*found, *check(definition, tasks or TASKS)]]


def step(name: str, task: str = "anything", args: Any = (1,), **more: Any) -> dict[str, Any]:
    """One step."""
    return {"name": name, "task": task, "args": args, **more}


WRONG: list[tuple[str, list[dict[str, Any]]]] = [
    ("a: unknown task 'nothing'; known are anything, charge, pack, price", [step("a", "nothing")]),
    ("a: missing argument order of price", [step("a", "price", ())]),
    ("a: 3 arguments by position; price takes 2", [step("a", "price", (1, 2.0, 3))]),
    ("a: price has no parameter colour; it takes order, rebate", [step("a", "price", {"order": 1, "colour": 2})]),
    ("a: argument order is given twice", [step("a", "price", (1,), kwargs={"order": 1})]),
    ("a: parameter order: expected int, got str", [step("a", "price", ("x",))]),
    ("b: parameter amount takes int, but $a is Price", [step("a", "price"), step("b", "charge", ("$a",))]),
    ("b: parameter amount takes int, but $a.lines is list[str]", [step("a", "price"), step("b", "charge", ("$a.lines",))]),
    ("b: $a.sum: Price has no 'sum'; it has total, lines", [step("a", "price"), step("b", "charge", ("$a.sum",))]),
    ("b: $a.total.cents: int has no part 'cents'", [step("a", "price"), step("b", "charge", ("$a.total.cents",))]),
    ("b: parameter order takes int, but $a is UUID", [step("a", "charge"), step("b", "price", ("$a",))]),
    ("b: parameter amount takes int, but $a.total? is int | None", [step("a", "price"), step("b", "charge", ("$a.total?",))]),
    ("b: parameter line takes str, but $item is int", [step("a", "pack", ("x",), map="$n"), step("b", "pack", ("$item",), map="$a")]),
    ("b: $a.total: expected a list, not int", [step("a", "price"), step("b", "pack", ("$item",), map="$a.total")]),
    ("a: map: no argument uses $item", [step("a", map="$n")]),
    ("a: $item: only the arguments of a step with a map can use it", [step("a", args=("$item",))]),
    ("b: $c is not an input or an earlier step; known are a, n", [step("a"), step("b", args=("$c",))]),
    ("a: $a is not an input or an earlier step; known are n", [step("a", args=("$a",))]),
    ("a: it follows the unknown step 'z'", [step("a", after=["z"])]),
    ("a: it follows itself", [step("a", after="a")]),
    ("a: 2 steps have this name; each needs its own", [step("a"), step("a")]),
    ("n: an input has this name; references could not distinguish them", [step("n")]),
    ("a: it waits for itself: a → b → a", [step("a", args=("$b",)), step("b", after=["a"])]),
    ("a: compensate: unknown task 'undo'; known are anything, charge, pack, price", [step("a", compensate="undo")]),
    ("a: compensate: missing argument amount of charge", [step("a", compensate="charge")]),
    (
        "a: compensate: $b is not an input or an earlier step; known are a, n",
        [step("a", compensate={"task": "anything", "args": ["$b"]}), step("b")],
    ),
    ("a: when: '$b >' is not a condition", [step("a", when="$b >")]),
    ("a: when: 'yes' is not a value", [step("b"), step("a", when="$b == yes")]),
    ("a: '$1' is not a reference; write $name", [step("a", args=("$1",))]),
    (f"a: {TOO_MANY.format(20)}", [step("a", retry=20)]),
    (f"a: {TOO_MANY.format(None)}", [step("a", retry={"max_retries": None})]),
    ("a: retry: max_retries: -1 is not between 0 and 999999; write None for no limit", [step("a", retry=-1)]),
    ("a: retry: expected numbers", [step("a", retry={"max_retries": "many"})]),
    ("a: time_limit: 0 is not between 1 and 2592000 seconds", [step("a", time_limit=0)]),
    ("a: unknown key 'tries'; known are name, task", [step("a", tries=3)]),
    ("a b: 'a b' is not a name for a step", [step("a b")]),
    ("item: 'item' is not a name for a step", [step("item")]),
    ("a: map: 'x' is not a reference to a list", [step("a", map="x")]),
    ("a: task: it is missing; write the name of a task", [{"name": "a"}]),
]  # fmt: skip


@pytest.mark.parametrize(("expected", "steps"), WRONG, ids=[w[0][:60] for w in WRONG])
def test_a_fault_is_told(expected: str, steps: list[dict[str, Any]]) -> None:
    found = problems(*steps, inputs={"n": "list[int]"})
    assert any(text.startswith(expected) for text in found), found


def test_faults_do_not_hide_each_other() -> None:
    found = problems(*(step(f"s{n}", "nothing", when="?", retry=99, time_limit=-1, after=["x"]) for n in range(5)))
    assert len(found) == 25


def test_a_cycle_is_told_once_and_every_cycle() -> None:
    circle = [step("a", after=["c"]), step("b", after=["a"]), step("c", after=["b"]), step("d", after=["e"]), step("e", after=["d"])]
    assert problems(*circle) == ["a: it waits for itself: a → b → c → a", "d: it waits for itself: d → e → d"]


RIGHT: list[list[dict[str, Any]]] = [
    [step("a", "price"), step("b", "charge", ("$a.total",), when="$a.total > 100")],
    [step("a", "price"), step("b", "pack", ("$item",), map="$a.lines"), step("c", args=("$b.0",))],
    [step("a", "charge"), step("b", "charge", (1, "$a"))],
    [step("a"), step("b", "charge", ("$a.what.ever",))],
    [step("a", "charge"), step("b", "charge", (1, "$a?"), when="not $a", after=["a"])],
    [step("a", "price", ("$n",)), step("b", "price", (1, "$a.total"), compensate={"task": "charge", "args": ["$a.total"]})],
    [step("a", "pack", ("$$5", "x"), kwargs={"more": 1}), step("b", args=([{"deep": "$a"}],))],
]


@pytest.mark.parametrize("steps", RIGHT, ids=range(len(RIGHT)))
def test_what_can_run_is_not_complained_about(steps: list[dict[str, Any]]) -> None:
    assert problems(*steps, inputs={"n": "int"}) == []


def test_a_task_that_leaves_no_trace_cannot_be_a_step() -> None:
    tasks = {**TASKS, "lost": Known(anything, records=False, keeps=False), "mute": Known(anything, keeps=False)}
    found = problems(step("a", "lost"), step("b", "mute"), step("c", args=("$b",)), tasks=tasks)
    assert found == [
        "a: task lost keeps no record (at_least_once), so its end cannot be known",
        "c: $b: task mute keeps no result (ignore_result)",
    ]


def test_a_task_that_can_be_no_step_is_told_with_the_reason_and_nothing_more() -> None:
    tasks = {**TASKS, "store": Known(anything, unfit="runs many calls as one")}
    found = problems(step("a", "store", (1, 2, 3)), step("b", compensate={"task": "store", "args": []}), tasks=tasks)
    assert found == ["a: task store runs many calls as one", "b: compensate: task store runs many calls as one"]


def test_faults_of_the_whole_stand_where_they_are() -> None:
    definition, found = read({"workflow": "a b", "on_failure": "hope", "inputs": {"n": "integer", "m": {"type": "int", "default": "x"}}})
    assert [p.path for p in found] == [("workflow",), ("step",), ("on_failure",), ("inputs", "n"), ("inputs", "m")]
    assert definition.steps == ()
    assert read({"workflow": "w", "step": [step(f"s{n}") for n in range(MOST_STEPS + 1)]})[1] == [
        Problem(("step",), "", "a workflow has 1 to 500 steps, not 501")
    ]


def whole() -> Definition:
    """A workflow that uses everything."""
    definition, found = read({
        "workflow": "w", "version": "7", "doc": "text", "on_failure": "wait", "inputs": {"n": {"type": "int | None", "default": None}},
        "step": [
            step("a", "price", {"order": "$n"}, retry={"max_retries": 2, "interval_start": 5}, time_limit=60),
            step("b", "pack", ("$item", "$$x"), map="$a.lines", compensate={"task": "charge", "args": ["$a.total"]}, after="a"),
            step("c", args=({"deep": ["$b.0", "$a.x?"]},), when=["$a.total > 100", "not $b", '$a.lines contains "y"']),
        ],
    })  # fmt: skip
    assert found == []
    return definition


def test_a_definition_is_read_back_from_what_is_written() -> None:
    assert read(plain(whole())) == (whole(), [])
    assert whole().steps[2].call.args == ({"deep": [Ref("b", (0,)), Ref("a", ("x",), True)]},)
    assert whole().steps[1].call.args == (Ref("item"), "$x")


def test_the_digest_names_one_definition() -> None:
    assert digest(whole()) == digest(read(plain(whole()))[0])
    changed = plain(whole())
    changed["step"][0]["time_limit"] = 61
    assert digest(read(changed)[0]) != digest(whole())


@pytest.mark.parametrize("words", ["int", "int | None", "list[str]", "list[int | None] | dict", "UUID", "any"])
def test_types_are_read_back_from_their_words(words: str) -> None:
    assert kinds.in_words(kinds.from_words(words)) == words
