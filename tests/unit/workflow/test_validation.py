"""The checks of a workflow before it runs: each fault with its place, its step and all its words."""

from typing import Any

import pytest

from sedano.model.workflow.conditions import condition
from sedano.model.workflow.definition import Definition, InputSpec, Ref, StepSpec, TaskCall
from sedano.model.workflow.definition_reader import Problem
from sedano.model.workflow.validation import Known, check

Body = Any


def many() -> list[int]:
    """Return numbers."""
    raise NotImplementedError


def take(one: int, two: str = "", *, three: float = 0.0) -> str:
    """Take values."""
    raise NotImplementedError


def places(one: int, /, two: int) -> Any:
    """Take the first one by position only."""
    raise NotImplementedError


def rest(*all_of: int, **named: str) -> Any:
    """Take everything."""
    raise NotImplementedError


def word(*, need: str) -> int:
    """Take a word by name."""
    raise NotImplementedError


TASKS = {function.__name__: Known(function) for function in (many, take, places, rest, word)}
INPUTS = {"n": InputSpec("int"), "list": InputSpec("list[int]"), "any": InputSpec()}
UNKNOWN = "known are many, places, rest, take, word"


def step(name: str, task: str = "rest", *args: Any, kwargs: Any = None, **more: Any) -> StepSpec:
    """Return one step."""
    return StepSpec(name, TaskCall(task, args, kwargs or {}), **more)


def found(*steps: StepSpec, tasks: dict[str, Known] | None = None) -> list[tuple[Any, ...]]:
    """Return the faults of a workflow, without the first part of their paths."""
    problems = check(Definition("w", inputs=INPUTS, steps=steps), tasks or TASKS)
    assert [one for one in problems if one != Problem(("step", *one.path[1:]), one.step, one.text)] == []
    return [(one.path[1:], one.step, one.text) for one in problems]


A = step("a", "many")


@pytest.mark.parametrize(
    ("path", "words", "task", "args", "kwargs"),
    [
        (("task",), f"unknown task 'no'; {UNKNOWN}", "no", (), {}),
        (("args",), "3 arguments by position; take takes 2", "take", (1, "x", 2.0), {}),
        (("args",), "3 arguments by position; places takes 2", "places", (1, 2, 3), {}),
        (("args",), "argument one is given twice", "take", (1,), {"one": 2}),
        (("args",), "take has no parameter four; it takes one, two, three", "take", (1,), {"four": 2}),
        (("args",), "places has no parameter one; it takes one, two", "places", (), {"one": 1, "two": 2}),
        (("args",), "missing argument one of take", "take", (), {"two": "x"}),
        (("args",), "missing argument two of places", "places", (1,), {}),
        (("args",), "missing argument need of word", "word", (), {}),
        (("args",), "1 arguments by position; word takes 0", "word", (1,), {"need": "x"}),
        (("args", "one"), "parameter one: expected int, got str", "take", ("x",), {}),
        (("args", "two"), "parameter two: expected str, got int", "take", (1, 2), {}),
        (("args", "three"), "parameter three: expected float, got str", "take", (1,), {"three": "x"}),
        (("args", "two"), "parameter two takes str, but $n is int", "take", (1, Ref("n")), {}),
        (("args", "two"), "parameter two takes str, but $n? is int", "take", (1, Ref("n", (), True)), {}),
        (("args", "one"), "parameter one takes int, but $list is list[int]", "take", (Ref("list"),), {}),
        (("args", "three"), "parameter three takes float, but $a is list[int]", "take", (1,), {"three": Ref("a")}),
        (("args", "need"), "parameter need takes str, but $a.0 is int", "word", (), {"need": Ref("a", (0,))}),
        (("args",), "$a.x: list[int] has no part 'x'", "rest", (Ref("a", ("x",)),), {}),
        (("args",), "$n.x: int has no part 'x'", "rest", ([{"deep": Ref("n", ("x",))}],), {}),
        (("args",), "$q is not an input or an earlier step; known are a, any, list, n", "rest", ([Ref("q")],), {}),
        (("args",), "$s is not an input or an earlier step; known are a, any, list, n", "rest", (), {"k": Ref("s")}),
        (("args",), "$item: only the arguments of a step with a map can use it", "rest", (Ref("item"),), {}),
    ],
)
def test_a_fault_of_a_call_is_told(path: tuple[Any, ...], words: str, task: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    assert found(A, step("s", task, *args, kwargs=kwargs)) == [((1, *path), "s", words)]


@pytest.mark.parametrize(
    ("task", "args", "kwargs"),
    [
        ("take", (1,), {}), ("take", (1, "x"), {"three": 1}),
        ("take", (), {"one": 1, "two": "x", "three": 0.5}), ("rest", (1, 2), {"k": "x"}),
        ("places", (1,), {"two": 2}), ("places", (1, 2), {}), ("word", (), {"need": "x"}), ("take", (Ref("any"),), {}),
        ("take", (Ref("n"),), {"three": Ref("n")}), ("rest", (Ref("a", (0,)), Ref("any", ("x", "y"))), {}),
        ("take", (1, Ref("any")), {}), ("rest", ([Ref("a")], {"k": Ref("n")}), {}), ("take", (1, [Ref("n")]), {}),
    ],
)  # fmt: skip
def test_a_call_that_fits_has_no_fault(task: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    assert found(A, step("s", task, *args, kwargs=kwargs)) == []


def test_names_are_unique_and_no_input_has_one() -> None:
    words = "3 steps have this name; each needs its own"
    assert found(A, A, step("b"), A) == [((1, "name"), "a", words), ((3, "name"), "a", words)]
    taken = "an input has this name; references could not distinguish them"
    assert found(step("n"), A) == [((0, "name"), "n", taken)]
    unknown = ((0, "task"), "n", f"unknown task 'no'; {UNKNOWN}")
    assert found(step("n", "no"), step("b", "rest", Ref("n"))) == [((0, "name"), "n", taken), unknown]


def test_a_step_follows_another_one() -> None:
    assert found(A, step("b", after=("a", "b", "z", "n"))) == [
        ((1, "after"), "b", "it follows itself"),
        ((1, "after"), "b", "it follows the unknown step 'z'"),
        ((1, "after"), "b", "it follows the unknown step 'n'"),
    ]


def test_a_map_is_over_a_list_and_an_argument_uses_its_item() -> None:
    item = Ref("item")
    assert found(A, step("b", "take", item, each=Ref("a"))) == []
    assert found(A, step("b", "rest", kwargs={"k": [item]}, each=Ref("list"))) == []
    assert found(A, step("b", each=Ref("a"))) == [((1, "map"), "b", "map: no argument uses $item")]
    no_list = [((0, "args"), "b", "$item: expected a list, not int"), ((0, "map"), "b", "$n: expected a list, not int")]
    assert found(step("b", "rest", item, each=Ref("n"))) == no_list
    assert found(step("b", "rest", item, each=Ref("any"))) == []
    assert found(A, step("b", "take", 1, item, each=Ref("a"))) == [((1, "args", "two"), "b", "parameter two takes str, but $item is int")]
    unknown = "$q is not an input or an earlier step; known are a, any, list, n"
    assert found(A, step("b", "rest", item, each=Ref("q"))) == [((1, "map"), "b", unknown)]
    assert found(A, step("b", "rest", item, Ref("q"), each=Ref("a"))) == [((1, "args"), "b", unknown)]
    only = "$item: only the arguments of a step with a map can use it"
    assert found(A, step("b", "rest", item, each=Ref("item", (0,)))) == [((1, "map"), "b", only.replace("$item", "$item.0"))]
    when = step("b", "rest", item, each=Ref("a"), when=(condition("$item > 1"),))
    assert found(A, when) == [((1, "when"), "b", only)]


def test_the_result_of_a_map_is_a_list_except_for_its_own_compensation() -> None:
    mapped = step("m", "take", Ref("item"), each=Ref("a"), compensation=TaskCall("word", (), {"need": Ref("m")}))
    assert found(A, mapped) == []
    assert found(A, mapped, step("c", "word", kwargs={"need": Ref("m")})) == [
        ((2, "args", "need"), "c", "parameter need takes str, but $m is list[str]")
    ]
    assert found(A, mapped, step("c", "word", kwargs={"need": Ref("m", (0,))})) == []


def test_a_condition_refers_to_a_value_that_is_there() -> None:
    unknown = "$q is not an input or an earlier step; known are a, any, list, n"
    steps = (A, step("b", when=(condition("$a.0 > 1"), condition("$q"), condition("not $a.x"))))
    assert found(*steps) == [((1, "when"), "b", unknown), ((1, "when"), "b", "$a.x: list[int] has no part 'x'")]


def test_a_result_that_is_not_kept_cannot_be_used_and_a_task_without_a_record_is_no_step() -> None:
    tasks = {**TASKS, "mute": Known(many, keeps=False), "lost": Known(many, records=False), "unfit": Known(many, unfit="is no step")}
    steps = (step("m", "mute"), step("l", "lost"), step("u", "unfit", 1, 2))
    more = (step("x", "rest", Ref("m")), step("y", when=(condition("$m"),)), step("z", "rest", Ref("item"), each=Ref("m")))
    words = "$m: task mute keeps no result (ignore_result)"
    assert found(*steps, *more, tasks=tasks) == [
        ((1, "task"), "l", "task lost keeps no record (at_least_once), so its end cannot be known"),
        ((2, "task"), "u", "task unfit is no step"),
        ((3, "args"), "x", words),
        ((4, "when"), "y", words),
        ((5, "map"), "z", words),
    ]
    assert found(step("a", "many", 1), tasks={"many": Known(many, records=False)})[1:] == [
        ((0, "args"), "a", "1 arguments by position; many takes 0")
    ]


def test_a_compensation_uses_what_ended_before_and_its_own_step() -> None:
    undo = TaskCall("rest", (Ref("s"), Ref("b"), Ref("a"), Ref("n")), {"k": Ref("item")})
    first = (A, step("b", after=("a",)), step("other"))
    only = "$item: only the arguments of a step with a map can use it"
    steps = (*first, step("s", "rest", Ref("b"), compensation=undo))
    assert found(*steps) == [((3, "compensate", "args"), "s", f"compensate: {only}")]
    mapped = step("s", "rest", Ref("item"), Ref("b"), each=Ref("a"), compensation=undo)
    assert found(*first, mapped) == []
    late = step("s", "rest", Ref("b"), compensation=TaskCall("rest", (Ref("other"),)))
    unknown = "$other is not an input or an earlier step; known are a, any, b, list, n, s"
    assert found(*first, late) == [((3, "compensate", "args"), "s", f"compensate: {unknown}")]
    wrong = step("s", compensation=TaskCall("take", ("x",), {"four": 1}))
    assert found(wrong) == [
        ((0, "compensate", "args"), "s", "compensate: take has no parameter four; it takes one, two, three"),
        ((0, "compensate", "args", "one"), "s", "compensate: parameter one: expected int, got str"),
    ]
    assert found(step("s", compensation=TaskCall("no"))) == [((0, "compensate", "task"), "s", f"compensate: unknown task 'no'; {UNKNOWN}")]
    assert found(step("s", ""), step("t", compensation=TaskCall(""))) == []


def test_a_value_of_an_unknown_type_fits_also_where_its_step_may_be_skipped() -> None:
    assert found(step("x", "places", 1, 2), step("y", "take", Ref("x", (), True))) == []


def test_a_circle_of_steps_is_told_from_its_first_one() -> None:
    circle = [step("x"), step("c", after=("b",)), step("a", after=("c", "x")), step("b", after=("a",)), step("y", after=("b",))]
    assert found(*circle) == [((1,), "c", "it waits for itself: c → a → b → c")]
    undone = [step("a", after=("b",), compensation=TaskCall("rest", (Ref("b"), Ref("c")))), step("b", after=("a",)), step("c")]
    unknown = "compensate: $c is not an input or an earlier step; known are a, any, b, list, n"
    assert found(*undone) == [((0, "compensate", "args"), "a", unknown), ((0,), "a", "it waits for itself: a → b → a")]
    two = [step("d", after=("e",)), step("e", after=("d",)), step("f", after=("g", "d")), step("g", after=("f",)), step("h")]
    assert sorted(found(*two)) == [((0,), "d", "it waits for itself: d → e → d"), ((2,), "f", "it waits for itself: f → g → f")]


def test_eight_names_are_told_and_the_rest_is_counted() -> None:
    names = [f"t{n}" for n in range(9)]
    for size, told in ((8, ", ".join(names[:8])), (9, f"{', '.join(names[:8])} and 1 more")):
        tasks = {name: Known(rest) for name in names[:size]}
        assert found(step("a", "no"), tasks=tasks) == [((0, "task"), "a", f"unknown task 'no'; known are {told}")]
    no_inputs = check(Definition("w", steps=(step("a", "rest", Ref("q")),)), TASKS)
    assert [one.text for one in no_inputs] == ["$q is not an input or an earlier step; known are none"]
