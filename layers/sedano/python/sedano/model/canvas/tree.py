"""A canvas as a value: the tasks that run in sequence, in parallel, or on a side branch, and the callbacks that run if a task fails.

There are three forms, as in Celery: a `TaskNode` (one task), a `Chain` (each step receives the value of the step before) and a `Group` (its
members run in parallel; its value is the list of their values, in order). A chord is a chain in which a step follows a group. A `Fork` is
valid in a chain only: its side branches receive the value of the step before, and no task waits for them.

`normal` returns the form that is published: chains are flat, forks belong to the step before them, and if a list must exist as the result
of a task (a group in a group, a group with links), a built-in step collects it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from sedano.errors import CanvasError
from sedano.model.canvas.page_reader import MOST_MEMBERS
from sedano.model.messages.message import COLLECT, MAP, MAP_ASYNC
from sedano.model.tasks.signature import Signature

DEEPEST = 100
"""How deep a canvas may be nested; a deeper one is refused as a mistake, such as a canvas that contains itself."""


@dataclass(frozen=True, slots=True)
class TaskNode:
    """One task. *links* and *forks* receive its value. *errors* are called if it ends without success, even if it never ran because a task
    that it waited for failed; *watch* only if the task itself failed.
    """

    signature: Signature
    links: tuple[Tree, ...] = ()
    errors: tuple[TaskNode, ...] = ()
    forks: tuple[Tree, ...] = ()
    watch: tuple[TaskNode, ...] = ()


@dataclass(frozen=True, slots=True)
class Chain:
    """Steps that run in sequence; *watch* is called for each task in it that fails."""

    steps: tuple[Tree | Fork, ...]
    watch: tuple[TaskNode, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """Members that run in parallel. *links* receive the list; *watch* is called for each task in it that fails; *outcomes*: the task that
    receives the list also runs if members failed, and the list contains the outcome of each. *pack*: how many members a message holds
    (`sedano.model.packs`; 0: one), or `CHOOSE`, before it is published.
    """

    members: tuple[Tree, ...]
    links: tuple[Tree, ...] = ()
    watch: tuple[TaskNode, ...] = ()
    outcomes: bool = False
    pack: int = 0


@dataclass(frozen=True, slots=True)
class Fork:
    """Side branches of the step before; *watch* is called for each task in them that fails."""

    branches: tuple[Tree, ...]
    watch: tuple[TaskNode, ...] = ()


Tree = TaskNode | Chain | Group
S = TypeVar("S", bound=TaskNode | Group)
CHOOSE = -1
"""The number of members of a pack that is chosen when the group is published."""
COLLECTING = Signature(COLLECT)
HANDED_DOWN = ("stamps", "tenant")
"""The options that every task passes to the tasks that follow from it."""


def calls_of(tree: Tree | Fork) -> Counter[str]:
    """Return how often *tree* calls each task, by name, if all of them succeed; a map counts as the calls of its task."""
    found: Counter[str] = Counter()
    left: list[Tree | Fork] = [tree]
    while left:
        match left.pop():
            case TaskNode(signature, links, _, forks):
                match signature.args:
                    case (str(name), list(items), *_) if signature.task in (MAP, MAP_ASYNC):
                        found[name] += len(items)
                    case _:
                        found[signature.task] += 1
                left += [*links, *forks]
            case Chain(steps):
                left += steps
            case Group(members, links):
                left += [*members, *links]
            case Fork(branches):
                left += branches
    return found


def linked(tree: Tree, branch: Tree) -> Tree:
    """Return *tree* with *branch* linked to it: *branch* receives its value, which for a chain is that of the last step."""
    if isinstance(tree, Chain):
        return replace(tree, steps=(*tree.steps[:-1], linked(_stage(tree.steps[-1]), branch)))
    return tree if branch in tree.links else replace(tree, links=(*tree.links, branch))


def guarded(tree: Tree, errback: TaskNode) -> Tree:
    """Return *tree* with *errback*, which is called if it fails: any step of a chain, any member of a group, the header and the body of a
    chord.
    """
    if isinstance(tree, TaskNode):
        return tree if errback in tree.errors else replace(tree, errors=(*tree.errors, errback))
    return tree if errback in tree.watch else replace(tree, watch=(*tree.watch, errback))


def applied(tree: Tree, args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> Tree:
    """Return *tree* with *args* before the arguments of its first tasks, and with *kwargs*, which override theirs."""
    if not args and not kwargs:
        return tree
    if isinstance(tree, TaskNode):
        return replace(tree, signature=tree.signature.clone(args, kwargs))
    if isinstance(tree, Chain):
        return replace(tree, steps=(applied(_stage(tree.steps[0]), args, kwargs), *tree.steps[1:]))
    return replace(tree, members=tuple(applied(m, args, kwargs) for m in tree.members))


def optioned(tree: Tree, options: Mapping[str, Any]) -> Tree:
    """Return *tree* with *options* set on every task; its start time is set only on its first tasks.

    Options that a task passes on (`HANDED_DOWN`) are also set on the callbacks that are linked to a group, and on side branches, because no
    task before them passes these on.
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
    """Return *tree* in the form that is published; *joined*: its value must be the result of one task.

    Raises:
        CanvasError: a chain is empty or begins with a fork, or it is nested too deeply.
    """
    if room < 0:
        raise CanvasError(f"the canvas has more than {DEEPEST} levels, or contains itself; publish the inner part from a separate task")
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
    if group.pack and room < DEEPEST:
        raise CanvasError("pack: only a group that is not inside another group can be published in packs; leave it out there")
    return Group(members, (), group.watch, group.outcomes, group.pack)


def _collected(group: Group, room: int) -> Chain:
    return Chain((_members(group, room), _step(TaskNode(COLLECTING, group.links), room)), group.watch)


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
    """Add the branches of *fork* to the last of *steps*."""
    if not steps:
        raise CanvasError("a fork needs a step before it, whose value its branches receive: first.s(…) | fork(side.s(…))")
    last = steps[-1]
    if isinstance(last, Group):
        last = TaskNode(COLLECTING)
        steps.append(last)
    steps[-1] = replace(_watched(last, fork.watch), forks=(*last.forks, *(normal(t, False, room - 1) for t in fork.branches)))


def _flat(steps: Iterable[Tree | Fork], watch: tuple[TaskNode, ...], room: int) -> Iterable[TaskNode | Group | Fork]:
    """Yield the stages of a chain and of the chains within it; the error callbacks that watch an inner chain watch each of its stages."""
    if room < 0:
        raise CanvasError(f"the canvas has more than {DEEPEST} levels, or contains itself")
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
        raise CanvasError("a fork has no value and takes no arguments; link it to the step before")
    return step
