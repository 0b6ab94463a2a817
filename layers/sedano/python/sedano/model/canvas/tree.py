"""A canvas as a value: which tasks run after one another, side by side, or on the side, and which callbacks run when one fails.

Three forms, as in Celery: a `TaskNode` (one task), a `Chain` (each is handed the value of the one before) and a `Group` (side by side; its
value is the list, in order). A chord is a chain in which something follows a group. A `Fork` is valid in a chain only: side branches that
get the value of the step before and that no task waits for.

`normal` returns the one shape that is published: chains are flat, forks hang on the step before them, and where a list has to exist as a
result of its own (a group in a group, a group that something is linked to) a built-in step collects it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from sedano.errors import CanvasError
from sedano.model.canvas.page_reader import MOST_MEMBERS
from sedano.model.messages.message import COLLECT
from sedano.model.tasks.signature import Signature

DEEPEST = 100
"""How deep a canvas may be nested; beyond it is a mistake, or a canvas that contains itself."""


@dataclass(frozen=True, slots=True)
class TaskNode:
    """One task. *links* are handed its value and *forks* too; *errors* are called when it ends without success, also when it never ran
    because what it waited for failed; *watch* only when it failed itself.
    """

    signature: Signature
    links: tuple[Tree, ...] = ()
    errors: tuple[TaskNode, ...] = ()
    forks: tuple[Tree, ...] = ()
    watch: tuple[TaskNode, ...] = ()


@dataclass(frozen=True, slots=True)
class Chain:
    """One after another; *watch* is called for each task within that fails."""

    steps: tuple[Tree | Fork, ...]
    watch: tuple[TaskNode, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """Side by side. *links* are handed the list; *watch* is called for each task within that fails; *outcomes*: the task that gets the list
    also runs when members failed, and finds in it how each ended.
    """

    members: tuple[Tree, ...]
    links: tuple[Tree, ...] = ()
    watch: tuple[TaskNode, ...] = ()
    outcomes: bool = False


@dataclass(frozen=True, slots=True)
class Fork:
    """Side branches of the step before; *watch* is called for each task within that fails."""

    branches: tuple[Tree, ...]
    watch: tuple[TaskNode, ...] = ()


Tree = TaskNode | Chain | Group
S = TypeVar("S", bound=TaskNode | Group)
COLLECTING = Signature(COLLECT)
HANDED_DOWN = ("stamps", "tenant")
"""The options that every task hands down to what follows from it."""


def linked(tree: Tree, branch: Tree) -> Tree:
    """Return *tree* with *branch* handed its value; of a chain that is the last one's."""
    if isinstance(tree, Chain):
        return replace(tree, steps=(*tree.steps[:-1], linked(_stage(tree.steps[-1]), branch)))
    return tree if branch in tree.links else replace(tree, links=(*tree.links, branch))


def guarded(tree: Tree, errback: TaskNode) -> Tree:
    """Return *tree* with *errback* called when it fails: of a chain any step, of a group any member, of a chord header and body."""
    if isinstance(tree, TaskNode):
        return tree if errback in tree.errors else replace(tree, errors=(*tree.errors, errback))
    return tree if errback in tree.watch else replace(tree, watch=(*tree.watch, errback))


def applied(tree: Tree, args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> Tree:
    """Return *tree* with *args* put before the arguments of what begins it and *kwargs* over them."""
    if not args and not kwargs:
        return tree
    if isinstance(tree, TaskNode):
        return replace(tree, signature=tree.signature.clone(args, kwargs))
    if isinstance(tree, Chain):
        return replace(tree, steps=(applied(_stage(tree.steps[0]), args, kwargs), *tree.steps[1:]))
    return replace(tree, members=tuple(applied(m, args, kwargs) for m in tree.members))


def optioned(tree: Tree, options: Mapping[str, Any]) -> Tree:
    """Return *tree* with *options* set on every task; its start time is set only on its first tasks.

    Options that a task hands down (`HANDED_DOWN`) are also set on callbacks linked to a group and on side branches: these have no task
    before them that could.
    """
    if not options:
        return tree
    if isinstance(tree, TaskNode):
        return replace(tree, signature=tree.signature.set(**options))
    down = {name: value for name, value in options.items() if name in HANDED_DOWN}
    if isinstance(tree, Group):
        links = tuple(optioned(t, down) for t in tree.links)
        return replace(tree, members=tuple(optioned(m, options) for m in tree.members), links=links)
    later = {name: value for name, value in options.items() if name not in ("countdown", "eta")}
    rest = (Fork(tuple(optioned(b, down) for b in s.branches)) if isinstance(s, Fork) else optioned(s, later) for s in tree.steps[1:])
    return replace(tree, steps=(optioned(_stage(tree.steps[0]), options), *rest))


def normal(tree: Tree, joined: bool = False, room: int = DEEPEST) -> Tree:
    """Return *tree* in the shape that is published; *joined*: its value has to be the result of one task.

    Raises:
        CanvasError: a chain is empty or begins with a fork, or it is nested too deeply.
    """
    if room < 0:
        raise CanvasError(f"nested more than {DEEPEST} deep, or containing itself; publish the inner part from a task of its own")
    if isinstance(tree, TaskNode):
        return _step(tree, room)
    if isinstance(tree, Group):
        return _collected(tree, room) if joined or tree.links else _members(tree, room)
    return _chain(tree, joined, room)


def _step(step: TaskNode, room: int) -> TaskNode:
    if not step.links and not step.forks:
        return step
    links, forks = ([normal(t, False, room - 1) for t in trees] for trees in (step.links, step.forks))
    return replace(step, links=tuple(links), forks=tuple(forks))


def _members(group: Group, room: int) -> Group:
    if len(group.members) > MOST_MEMBERS:
        raise CanvasError(f"a group of {len(group.members)} members; a group may have {MOST_MEMBERS}: use chunks, or groups of groups")
    members = tuple(m if type(m) is TaskNode and not m.links and not m.forks else normal(m, True, room - 1) for m in group.members)
    return Group(members, (), group.watch, group.outcomes)


def _collected(group: Group, room: int) -> Chain:
    collector = normal(TaskNode(COLLECTING, group.links), False, room)
    return Chain((_members(group, room), collector), group.watch)


def _chain(tree: Chain, joined: bool, room: int) -> Tree:
    steps: list[TaskNode | Group] = []
    for stage in _flat(tree.steps, (), room):
        if isinstance(stage, Fork):
            _hang(stage, steps, room)
        elif isinstance(stage, TaskNode):
            steps.append(_step(stage, room))
        else:
            steps.append(stage)
            if stage.links:
                steps[-1:] = [replace(stage, links=()), TaskNode(COLLECTING, tuple(normal(t, False, room - 1) for t in stage.links))]
    if not steps:
        raise CanvasError("a chain has at least one step: chain(first.s(…), second.s(…))")
    if joined and isinstance(steps[-1], Group):
        steps.append(TaskNode(COLLECTING))
    made = tuple(_members(s, room) if isinstance(s, Group) else s for s in steps)
    if len(made) == 1:
        return _watched(made[0], tree.watch)
    return Chain(made, tree.watch)


def _hang(fork: Fork, steps: list[TaskNode | Group], room: int) -> None:
    """Hang *fork* on the last of *steps*."""
    if not steps:
        raise CanvasError("a fork follows a step, whose value its branches get: first.s(…) | fork(side.s(…))")
    if isinstance(steps[-1], Group):
        steps.append(TaskNode(COLLECTING))
    last = steps[-1]
    if isinstance(last, TaskNode):
        last = _watched(last, fork.watch)
        steps[-1] = replace(last, forks=(*last.forks, *(normal(t, False, room - 1) for t in fork.branches)))


def _flat(steps: Iterable[Tree | Fork], watch: tuple[TaskNode, ...], room: int) -> Iterable[TaskNode | Group | Fork]:
    """Yield the stages of a chain with those of chains within it; what watched an inner chain watches each of its stages."""
    if room < 0:
        raise CanvasError(f"nested more than {DEEPEST} deep, or containing itself")
    for step in steps:
        if isinstance(step, Chain):
            yield from _flat(step.steps, (*watch, *step.watch), room - 1)
        elif isinstance(step, Fork):
            yield Fork(step.branches, watch)
        else:
            yield _watched(step, watch)


def _watched(stage: S, watch: tuple[TaskNode, ...]) -> S:
    more = tuple(w for w in watch if w not in stage.watch)
    return replace(stage, watch=(*stage.watch, *more)) if more else stage


def _stage(step: Tree | Fork) -> Tree:
    """Return *step*, which must not be a fork."""
    if isinstance(step, Fork):
        raise CanvasError("a fork has no value of its own and takes no arguments; link it to the step before")
    return step
