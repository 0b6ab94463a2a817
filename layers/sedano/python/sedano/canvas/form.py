"""The methods of all forms of a canvas: publish, freeze, link, combine.

As in Celery, `link`, `link_error` and `freeze` change the form that they are called on; `set`, `clone`, `stamp` and `|` return new ones. A
form that is built into another is copied there: a later change of the original does not change the copy.
"""

from __future__ import annotations

import typing
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, overload

from sedano.canvas.publication import answer, own_id, publish
from sedano.engine.publisher.publisher import Outlet
from sedano.errors import CanvasError, OptionError
from sedano.errors.hints import Hinting
from sedano.model.canvas.tree import Chain, Fork, Group, TaskNode, Tree, applied, guarded, linked, normal, optioned
from sedano.model.tasks.signature import given
from sedano.result import GroupResult
from sedano.result.async_result import Answers

if TYPE_CHECKING:
    from typing import Unpack

    from typing_extensions import TypeVar  # type checkers know it; nothing is installed

    from sedano.model.tasks.published_options import LinkedOptions

    H_co = TypeVar("H_co", covariant=True, default=Any)
else:
    H_co = typing.TypeVar("H_co", covariant=True)
F = typing.TypeVar("F", bound="Form[Any]")
H = typing.TypeVar("H")
V = typing.TypeVar("V")


class Publishes(Protocol):
    """The part of an app that a form needs."""

    @property
    def outlet(self) -> Outlet:
        """The way out."""


class Form(Hinting, Generic[H_co]):
    """A part of a canvas: an immutable *tree* and the *app* that publishes it. `H_co` is the type of the result that publishing returns."""

    def __init__(self, tree: Tree, app: Publishes | None) -> None:
        """Hold *tree*, to be published by *app*; a form without tasks has none."""
        self.tree = tree
        self.app = app
        self.task_id: str | None = None

    def __repr__(self) -> str:
        """Show the form."""
        return f"<{type(self).__name__} {shown(self.tree)}>"

    def __eq__(self, other: object) -> bool:
        """Return whether *other* is the same canvas."""
        return isinstance(other, Form) and self.tree == other.tree

    __hash__ = None  # type: ignore[assignment] # a form changes

    @overload
    def __or__(self, other: Fork) -> Form[H_co]: ...

    @overload
    def __or__(self, other: Form[H]) -> Form[H]: ...

    def __or__(self, other: Form[Any] | Fork) -> Form[Any]:
        """Return the chain of this form and *other*: what follows a group is the body of a chord; raise `CanvasError` for anything else."""
        mine, app = tree_of(self), self.app or getattr(other, "app", None)
        tree = other if isinstance(other, Fork) else tree_of(other)
        before: tuple[Tree | Fork, ...] = mine.steps if isinstance(mine, Chain) and not mine.watch else (mine,)
        after = tree.steps if isinstance(tree, Chain) and not tree.watch else (tree,)
        return Form(Chain((*before, *after)), app)

    def delay(self, *args: Any, **kwargs: Any) -> H_co:
        """Publish it, with more arguments for what begins it, and return its result."""
        return self.apply_async(args, kwargs)

    def apply_async(
        self, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None, **options: Unpack[LinkedOptions]
    ) -> H_co:
        """Publish it with options, which hold for each of its tasks; `countdown` and `eta` for what begins it.

        Args:
            args: put before the arguments of what begins it.
            kwargs: put over them.
            options: see `sedano.model.tasks.signature.Options`; also ``link`` and ``link_error``, and ``task_id``, the id of the whole.

        Raises:
            CanvasError: it cannot be what it was put together from.
            OptionError: an option is unknown, or cannot be honoured within a canvas.
            DuplicateTask: a canvas of this ``task_id`` was published in the last minute, has begun, or has ended and is not forgotten yet.
            UnknownTask: it names a task that the app does not know.
            ArgumentError, Unserialisable, TooLarge: what a task is given does not fit, and where. Nothing is published then.
        """
        first, named = given(args, kwargs)
        changed = self._with(options)
        if changed.app is None and not has_tasks(changed.tree):
            empty: H_co = nothing(changed.tree)
            return empty
        outlet = changed.needs_app().outlet
        result: H_co = publish(outlet, applied(changed.tree, first, named), changed.task_id)
        return result

    def __invert__(self: Form[Answers[V]]) -> V:
        """Publish it and wait for its value: `~add.s(2, 2)`."""
        return self.delay().get()

    def freeze(self, task_id: str | None = None) -> H_co:
        """Decide its id now, *task_id* or a fresh one, and return the result that it will have when it is published."""
        if self.app is None and not has_tasks(self.tree):
            empty: H_co = nothing(self.tree)
            return empty
        outlet = self.needs_app().outlet
        made = normal(self.tree)
        self.task_id = task_id or self.task_id or own_id(made) or outlet.drafting.fresh_id()
        result: H_co = answer(outlet, made, self.task_id)
        return result

    def link(self, callback: F) -> F:
        """Have *callback* handed its value when it has ended well, beside what follows it; of a chain that is the last step's value.

        Returns:
            The callback.
        """
        self.tree, self.app = linked(self.tree, tree_of(callback)), self.app or callback.app
        return callback

    def link_error(self, errback: F) -> F:
        """Have *errback* called when it fails: once for each task in it that failed.

        It is called with the failed task's id, or, when it takes three arguments, with the failed task's request, the exception (type and
        message) and the traceback. An immutable one is called with its own arguments.

        Returns:
            The error callback.
        """
        self.tree = guarded(self.tree, errback_of(errback))
        return errback

    def on_error(self, errback: Form[Any]) -> Self:
        """Do what `link_error` does and return this form, for chaining calls."""
        self.link_error(errback)
        return self

    def set(self, **options: Unpack[LinkedOptions]) -> Self:
        """Return a copy with these options for each of its tasks."""
        return self._with(options)

    def clone(self, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None) -> Self:
        """Return a copy with more arguments for what begins it: *args* before its own, *kwargs* over its own."""
        first, named = given(args, kwargs)
        return self._changed(applied(self.tree, first, named))

    def stamp(self, **stamps: str) -> Self:
        """Return a copy whose tasks carry these stamps besides their own; every task that they cause inherits them.

        Raises:
            OptionError: a name or a value cannot be one, or all stamps together are more than 256 characters.
        """
        return self._with({"stamps": stamps})

    def needs_app(self) -> Publishes:
        """Return the app that publishes it.

        Raises:
            CanvasError: it has none.
        """
        if self.app is None:
            raise CanvasError(f"{shown(self.tree)}: no app publishes this; make it by app.signature(…), or combine it with what an app has")
        return self.app

    def _with(self, options: Mapping[str, Any]) -> Self:
        """Return a copy with *options*."""
        rest = {name: value for name, value in options.items() if name not in ("link", "link_error", "task_id")}
        changed = self._changed(optioned(self.tree, rest))
        for callback in several(options.get("link")):
            changed.link(callback)
        for errback in several(options.get("link_error")):
            changed.link_error(errback)
        task_id = options.get("task_id")
        if task_id is not None and (not isinstance(task_id, str) or not task_id):
            raise OptionError(f"task_id: expected a text that is not empty, got {task_id!r}")
        changed.task_id = task_id or self.task_id
        return changed

    def _changed(self, tree: Tree) -> Self:
        copy = type(self).__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy.tree = tree
        return copy


def tree_of(part: object) -> Tree:
    """Return the tree of *part*, a copy of what it is now.

    Raises:
        CanvasError: it is not a form.
    """
    if not isinstance(part, Form):
        raise CanvasError(f"a canvas is put together from signatures (task.s(…)) and forms of them, not {type(part).__name__}")
    if part.task_id is None:
        return part.tree
    if isinstance(part.tree, TaskNode):
        return optioned(part.tree, {"task_id": part.task_id})
    raise CanvasError("a frozen chain, group or chord has its id already and cannot be part of another; freeze the whole")


def has_tasks(tree: Tree | Fork) -> bool:
    """Return whether *tree* holds any task."""
    if isinstance(tree, TaskNode):
        return True
    return any(map(has_tasks, tree.steps if isinstance(tree, Chain) else tree.members if isinstance(tree, Group) else tree.branches))


def nothing(tree: Tree | Fork) -> Any:
    """Return the result of a *tree* without any task: as many empty lists as it has groups."""
    if isinstance(tree, Chain):
        return nothing(tree.steps[-1])
    return GroupResult([nothing(member) for member in tree.members] if isinstance(tree, Group) else ())


def errback_of(errback: object) -> TaskNode:
    """Return the step of an error callback."""
    tree = tree_of(errback)
    if not isinstance(tree, TaskNode) or tree.links or tree.errors or tree.forks:
        raise CanvasError("an error callback is one signature without callbacks of its own; let it publish what else is to be done")
    if tree.signature.options.task_id is not None:
        raise CanvasError(
            f"error callback {tree.signature.task}: each failed task calls it once, each time under another id; leave out task_id, "
            "and do not freeze it"
        )
    return tree


def several(value: object) -> Iterable[Any]:
    """Return *value* as several: none, one, or a list of them."""
    if value is None:
        return ()
    return value if isinstance(value, list | tuple) else (value,)


def shown(tree: Tree | Fork) -> str:
    """Return *tree* as a line for people."""
    if isinstance(tree, TaskNode):
        return tree.signature.task
    if isinstance(tree, Chain):
        return " | ".join(shown(step) for step in tree.steps)
    parts = tree.members if isinstance(tree, Group) else tree.branches
    more = f", … {len(parts) - 5} more" if len(parts) > 5 else ""
    return f"{'group' if isinstance(tree, Group) else 'fork'}({', '.join(shown(part) for part in parts[:5])}{more})"
