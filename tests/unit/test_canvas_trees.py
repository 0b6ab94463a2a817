"""Canvases as values: what linking, guarding, options and arguments change, and the exact form that is published."""

from collections.abc import Callable
from typing import Any

import pytest

from sedano.errors import CanvasError
from sedano.model.canvas.tree import (
    DEEPEST,
    Chain,
    Fork,
    Group,
    TaskNode,
    Tree,
    applied,
    calls_of,
    guarded,
    linked,
    normal,
    optioned,
)
from sedano.model.messages.message import COLLECT, MAP, MAP_ASYNC
from sedano.model.tasks.signature import Signature


def task(name: str, *args: Any, **options: Any) -> TaskNode:
    """Return one task."""
    return TaskNode(Signature(name, args).set(**options))


def having(step: TaskNode, **more: Any) -> TaskNode:
    """Return *step* with these links and callbacks."""
    return TaskNode(step.signature, **more)


A, B, C, W, V = map(task, "abcwv")
COLLECTED = TaskNode(Signature(COLLECT))
MOST = 1_000_000


class Crowd(tuple[Tree, ...]):
    """One member that says that it is many."""

    __slots__ = ()

    def __len__(self) -> int:
        """Return more than one."""
        return MOST + (self[0] is B)


@pytest.mark.parametrize(
    ("tree", "calls"),
    [
        (A, {"a": 1}),
        (having(A, links=(B, B), forks=(C,), errors=(W,), watch=(V,)), {"a": 1, "b": 2, "c": 1}),
        (Chain((A, Fork((B, Chain((B, C))), (W,)), A), (V,)), {"a": 2, "b": 2, "c": 1}),
        (Group((A, A), (B,), (W,)), {"a": 2, "b": 1}),
        (Fork((A, B)), {"a": 1, "b": 1}),
        (task(MAP, "add", [[1], [2], [3]]), {"add": 3}),
        (task(MAP_ASYNC, "add", [], 5), {"add": 0}),
        (Chain((task(MAP, "add", [1]), task(MAP_ASYNC, "add", [2, 3], "more"))), {"add": 3}),
        (task(MAP, "add"), {MAP: 1}),
        (task(MAP, "add", (1, 2)), {MAP: 1}),
        (task("other", "add", [1, 2]), {"other": 1}),
        (having(task(MAP, "add", [1, 2]), links=(B,)), {"add": 2, "b": 1}),
    ],
)
def test_the_calls_of_a_canvas_are_those_of_all_its_tasks_if_they_succeed(tree: Tree | Fork, calls: dict[str, int]) -> None:
    assert dict(calls_of(tree)) == calls


def test_a_branch_is_linked_to_what_has_the_value() -> None:
    assert linked(A, B) == having(A, links=(B,))
    assert linked(linked(A, B), C) == having(A, links=(B, C))
    assert linked(Group((A,), (B,)), C) == Group((A,), (B, C))
    assert linked(Chain((A, B, C), (W,)), V) == Chain((A, B, having(C, links=(V,))), (W,))
    with pytest.raises(CanvasError, match=r"^a fork has no value and takes no arguments; link it to the step before$"):
        linked(Chain((A, Fork((B,)))), C)


def test_an_error_callback_belongs_to_a_task_or_watches_the_whole() -> None:
    assert guarded(guarded(A, W), V) == having(A, errors=(W, V))
    assert guarded(guarded(A, W), W) == having(A, errors=(W,))
    assert guarded(Group((A,), (), (W,)), V) == Group((A,), (), (W, V))
    assert guarded(Chain((A,), (W,)), W) == Chain((A,), (W,))


def test_arguments_go_to_the_first_tasks() -> None:
    first = TaskNode(Signature("a", (7, 1), {"k": 2}))
    step = task("a", 1)
    assert applied(step, (7,), {"k": 2}) == first
    assert applied(Chain((Chain((step, B)), B), (W,)), (7,), {"k": 2}) == Chain((Chain((first, B)), B), (W,))
    assert applied(Group((step, Chain((step,))), (B,), (W,)), (7,), {"k": 2}) == Group((first, Chain((first,))), (B,), (W,))
    assert applied(A, (), {"k": 2}) == TaskNode(Signature("a", (), {"k": 2}))
    assert applied(A, (7,), None) == task("a", 7)
    forked = Chain((Fork((A,)), B))
    assert (applied(forked, (), None), applied(forked, (), {})) == (forked, forked)
    with pytest.raises(CanvasError, match=r"^a fork has no value"):
        applied(forked, (1,), None)


def test_options_are_set_on_every_task_and_those_of_the_start_on_the_first_ones() -> None:
    later = {"tenant": "t", "queue": "q"}
    first = {**later, "countdown": 5}
    tree = Chain(
        (Group((A, Chain((A, B))), (C,), (W,)), having(B, links=(C,)), Fork((C, Group((C,)))), Group((A,), (B,))), (W,)
    )  # fmt: skip
    made = optioned(tree, first)
    assert made == Chain((
        Group((task("a", **first), Chain((task("a", **first), task("b", **later)))), (task("c", tenant="t"),), (W,)),
        having(task("b", **later), links=(C,)),
        Fork((task("c", tenant="t"), Group((task("c", tenant="t"),)))),
        Group((task("a", **later),), (task("b", tenant="t"),)),
    ), (W,))  # fmt: skip
    assert optioned(tree, {}) is tree
    stamped = {"stamps": {"s": "1"}}
    assert optioned(Chain((A, Fork((B,)))), {**stamped, "queue": "q"}) == Chain(
        (task("a", queue="q", **stamped), Fork((task("b", **stamped),)))
    )
    with pytest.raises(CanvasError, match=r"^a fork has no value"):
        optioned(Chain((Fork((A,)), B)), later)


FORKED = having(A, forks=(B,), watch=(W,))


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (A, A),
        (having(A, errors=(W,), watch=(V,)), having(A, errors=(W,), watch=(V,))),
        (having(A, links=(Chain((B,)),), forks=(Chain((C,)),)), having(A, links=(B,), forks=(C,))),
        (having(A, links=(Chain((B,)),)), having(A, links=(B,))),
        (having(A, links=(Group((B,)),), forks=(Group((C,)),)), having(A, links=(Group((B,)),), forks=(Group((C,)),))),
        (Chain((A, Fork((Group((B,)),)))), having(A, forks=(Group((B,)),))),
        (Chain((Group((A,), (Group((B,)),)), C)), Chain((Group((A,)), having(COLLECTED, links=(Group((B,)),)), C))),
        (having(A, forks=(Chain((C,)),)), having(A, forks=(C,))),
        (Chain((A,), (W,)), having(A, watch=(W,))),
        (Chain((having(A, watch=(W,)),), (W, V)), having(A, watch=(W, V))),
        (Chain((A, Chain((B, Chain((C,), (V,))), (W,)))), Chain((A, having(B, watch=(W,)), having(C, watch=(W, V))))),
        (Chain((A, Fork((Chain((B,)),))), (W,)), having(A, forks=(B,), watch=(W,))),
        (Chain((A, Chain((Fork((B,)), C), (W,)))), Chain((FORKED, having(C, watch=(W,))))),
        (Chain((A, Fork((B,)), Fork((C,)))), having(A, forks=(B, C))),
        (Chain((having(A, forks=(B,)), Fork((C,)))), having(A, forks=(B, C))),
        (Chain((Group((A,)), Fork((B,)))), Chain((Group((A,)), having(COLLECTED, forks=(B,))))),
        (Chain((having(A, links=(Chain((B,)),)), C)), Chain((having(A, links=(B,)), C))),
        (Chain((Group((A,)),), (W,)), Group((A,), (), (W,))),
        (Chain((Group((A,), (Chain((B,)),), (W,)), C)), Chain((Group((A,), (), (W,)), having(COLLECTED, links=(B,)), C))),
        (Chain((Group((A,)), Group((B,)))), Chain((Group((A,)), Group((B,))))),
        (Group((A, Chain((B,)), having(A, links=(Chain((B,)),))), (), (W,), outcomes=True),
         Group((A, B, having(A, links=(B,))), (), (W,), outcomes=True)),
        (Group((having(A, forks=(Chain((B,)),)),)), Group((having(A, forks=(B,)),))),
        (Group((A, Group((B,), (), (W,), outcomes=True))), Group((A, Chain((Group((B,), (), (W,), outcomes=True), COLLECTED), (W,))))),
        (Group((Chain((A, Group((B,)))),)), Group((Chain((A, Group((B,)), COLLECTED)),))),
        (Group((Chain((Group((B,)),)),)), Group((Chain((Group((B,)), COLLECTED)),))),
        (Group((A,), (Chain((B,)),), (W,)), Chain((Group((A,), (), (W,)), having(COLLECTED, links=(B,))), (W,))),
    ],
)  # fmt: skip
def test_the_normal_form_of_a_canvas(tree: Tree, expected: Tree) -> None:
    assert normal(tree) == expected


def test_a_value_that_must_be_one_result_is_collected() -> None:
    assert normal(A, joined=True) == A
    assert normal(Group((A,)), joined=True) == Chain((Group((A,)), COLLECTED))
    assert normal(Chain((A, Group((B,)))), joined=True) == Chain((A, Group((B,)), COLLECTED))
    assert normal(Chain((A, B)), joined=True) == Chain((A, B))


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        (Chain(()), "a chain has at least one step: chain(first.s(…), second.s(…))"),
        (Chain((Chain(()),)), "a chain has at least one step: chain(first.s(…), second.s(…))"),
        (Chain((Fork((A,)), B)), "a fork needs a step before it, whose value its branches receive: first.s(…) | fork(side.s(…))"),
        (Group(Crowd((B,))), "a group of 1000001 members; a group may have 1000000: use chunks, or groups of groups"),
    ],
)
def test_a_canvas_that_cannot_begin_is_refused_with_what_to_write(tree: Tree, words: str) -> None:
    with pytest.raises(CanvasError) as caught:
        normal(tree)
    assert str(caught.value) == words


def test_a_group_has_a_million_members() -> None:
    assert normal(Group(Crowd((A,)))) == Group((A,))


FORMS: dict[str, Callable[[Tree], Tree]] = {
    "group": lambda tree: Group((tree,)),
    "chain": lambda tree: Chain((B, tree)),
    "chain of one": lambda tree: Chain((tree,)),
    "links": lambda tree: having(B, links=(tree,)),
    "forks": lambda tree: having(B, forks=(tree,)),
    "fork": lambda tree: Chain((B, Fork((tree,)))),
    "group with links": lambda tree: Group((B,), (tree,)),
    "group with links in a chain": lambda tree: Chain((Group((B,), (tree,)), C)),
}


def nested(levels: int, kind: str) -> Tree:
    """Return a task within so many forms of this kind."""
    tree: Tree = A
    for _ in range(levels):
        tree = FORMS[kind](tree)
    return tree


TOO_DEEP = "the canvas has more than 100 levels, or contains itself"


@pytest.mark.parametrize(
    ("kind", "most"),
    [
        ("group", 101), ("chain", 101), ("chain of one", 101), ("links", 100), ("forks", 100), ("fork", 100), ("group with links", 100),
        ("group with links in a chain", 100),
    ],
)  # fmt: skip
def test_a_canvas_has_a_hundred_levels(kind: str, most: int) -> None:
    normal(nested(most, kind))
    with pytest.raises(CanvasError) as caught:
        normal(nested(most + 1, kind))
    assert str(caught.value) in (TOO_DEEP, f"{TOO_DEEP}; publish the inner part from a separate task")
    assert DEEPEST == 100
