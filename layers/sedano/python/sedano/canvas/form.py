"""The methods of all forms of a canvas: publish, freeze, link, combine.

As in Celery, `link`, `link_error` and `freeze` change the form that they are called on; `set`, `clone`, `stamp` and `|` return new ones. A
form that is built into another is copied there: a later change of the original does not change the copy.
"""

from __future__ import annotations

import typing
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, overload

from sedano.canvas.packs import packed
from sedano.canvas.publication import answer, own_id, publish
from sedano.engine.publisher.publisher import Outlet
from sedano.errors import CanvasError, OptionError
from sedano.errors.hints import Hinting
from sedano.model.canvas.tree import Chain, Fork, Group, TaskNode, Tree, applied, guarded, linked, normal, optioned
from sedano.model.packs import is_reserved
from sedano.model.tasks.signature import RESERVED, given
from sedano.result import GroupResult
from sedano.result.async_result import Answers

if TYPE_CHECKING:
    from typing import Unpack

    from typing_extensions import TypeVar  # type checkers know it; nothing is installed

    from sedano.model.history.cost_estimates import CostEstimate
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
        """The publisher."""


class Form(Hinting, Generic[H_co]):
    """A part of a canvas: an immutable *tree* and the *app* that publishes it. `H_co` is the type of the result that publishing returns."""

    def __init__(self, tree: Tree, app: Publishes | None) -> None:
        """Make a form of *tree*, which *app* publishes; None for a form without tasks."""
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
        """Return the chain of this form and *other*; after a group, *other* is the body of a chord. Raise `CanvasError` if it is not a
        form."""
        mine, app = tree_of(self), self.app or getattr(other, "app", None)
        tree = other if isinstance(other, Fork) else tree_of(other)
        before: tuple[Tree | Fork, ...] = mine.steps if isinstance(mine, Chain) and not mine.watch else (mine,)
        after = tree.steps if isinstance(tree, Chain) and not tree.watch else (tree,)
        return Form(Chain((*before, *after)), app)

    def delay(self, *args: Any, **kwargs: Any) -> H_co:
        """Publish the form, with additional arguments for its first tasks, and return its result."""
        return self.apply_async(args, kwargs)

    def apply_async(
        self, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None, **options: Unpack[LinkedOptions]
    ) -> H_co:
        """Publish the form with options, which apply to each of its tasks; `countdown` and `eta` apply to its first tasks only.

        Args:
            args: positional arguments, put before those of its first tasks.
            kwargs: keyword arguments, which override those of its first tasks.
            options: see `sedano.model.tasks.signature.Options`; also ``link`` and ``link_error``, and ``task_id``, the id of the whole
                canvas.

        Raises:
            CanvasError: the parts of the canvas do not fit together.
            OptionError: an option is unknown, or cannot be honoured within a canvas.
            DuplicateTask: a canvas of this ``task_id`` was published in the last minute, has begun, or has ended and its record is still
                kept.
            UnknownTask: it names a task that the app does not know.
            ArgumentError, Unserialisable, TooLarge: the arguments of a task do not fit; the message names it. Nothing is published.
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
        """Publish the form and wait for its value: `~add.s(2, 2)`."""
        return self.delay().get()

    def freeze(self, task_id: str | None = None) -> H_co:
        """Set the form's id now (*task_id* or a new one) and return the result that it will have when it is published."""
        _check_id(task_id)
        if self.app is None and not has_tasks(self.tree):
            empty: H_co = nothing(self.tree)
            return empty
        outlet = self.needs_app().outlet
        made = normal(self.tree)
        self.task_id = task_id or self.task_id or own_id(made) or outlet.drafting.fresh_id()
        made = packed(outlet, made, self.task_id)
        result: H_co = answer(outlet, made, self.task_id)
        return result

    def link(self, callback: F) -> F:
        """Call *callback* with the form's value when it succeeds, in parallel with what follows it. The value of a chain is that of its
        last step.

        Returns:
            The callback.
        """
        self.tree, self.app = linked(self.tree, tree_of(callback)), self.app or callback.app
        return callback

    def link_error(self, errback: F) -> F:
        """Call *errback* when the form fails: once for each task in it that failed.

        It gets the failed task's id or, if it takes three arguments, the failed task's request, the exception (type and message) and the
        traceback. An immutable error callback gets its own arguments only.

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
        """Return a copy with additional arguments for its first tasks: *args* precede the existing ones, *kwargs* override them."""
        first, named = given(args, kwargs)
        return self._changed(applied(self.tree, first, named))

    def stamp(self, **stamps: str) -> Self:
        """Return a copy whose tasks carry these stamps in addition to their own; every task that they publish inherits them.

        Raises:
            OptionError: a name or a value is not valid, or all stamps together are longer than 256 characters.
        """
        return self._with({"stamps": stamps})

    def estimate(self) -> CostEstimate:
        """Return what this form will cost, from the costs of its tasks in the last day at list prices. This reads the roll-ups of a day.

        Error callbacks, and tasks that its tasks publish, are not included.

        Raises:
            CanvasError: it has no app.
            PortMissing: the deployment has no roll-ups.
            Unavailable: the store did not answer.
        """
        from sedano.canvas.estimates import estimated

        return estimated(self.needs_app().outlet, self.tree)

    def within(self, amount: str) -> Self:
        """Return this form if its `estimate` is at most *amount*, such as ``"0.50 USD"``: `work.within("0.50 USD").delay()`.

        It is checked now, once, and does not limit a canvas that has been published; `app.spending` limits the spending of a day.

        Raises:
            OptionError: *amount* is not an amount in US dollars.
            SpendingExceeded: the estimate is higher, or unknown because no task ran in the last day.
        """
        from sedano.model.history.cost_estimates import required

        required(self.estimate(), amount)
        return self

    def needs_app(self) -> Publishes:
        """Return the app that publishes this form.

        Raises:
            CanvasError: it has no app.
        """
        if self.app is None:
            raise CanvasError(f"{shown(self.tree)}: it has no app; make it with app.signature(…), or combine it with one that has an app")
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
        _check_id(task_id)
        changed.task_id = task_id or self.task_id
        return changed

    def _changed(self, tree: Tree) -> Self:
        copy = type(self).__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy.tree = tree
        return copy


def _check_id(task_id: object) -> None:
    """Raise `OptionError` if *task_id* cannot be the id of a canvas; None: the canvas gets its own."""
    if task_id is None:
        return
    if not isinstance(task_id, str) or not task_id:
        raise OptionError(f"task_id: expected a text that is not empty, got {task_id!r}")
    if is_reserved(task_id):
        raise OptionError(RESERVED.format(task_id))


def tree_of(part: object) -> Tree:
    """Return the tree of *part*, a copy of what it is now.

    Raises:
        CanvasError: *part* is not a form.
    """
    if not isinstance(part, Form):
        raise CanvasError(f"a canvas consists of signatures (task.s(…)) and forms of them, not {type(part).__name__}")
    if part.task_id is None:
        return part.tree
    if isinstance(part.tree, TaskNode):
        return optioned(part.tree, {"task_id": part.task_id})
    raise CanvasError("a frozen chain, group or chord already has its id and cannot be part of another; freeze the whole canvas instead")


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
        raise CanvasError("an error callback must be one signature without callbacks; publish further tasks in its body")
    if tree.signature.options.task_id is not None:
        raise CanvasError(
            f"error callback {tree.signature.task}: each failed task calls it once, each time under another id; leave out task_id, "
            "and do not freeze it"
        )
    return tree


def several(value: object) -> Iterable[Any]:
    """Return *value* (None, one value, or a list) as a list of values."""
    if value is None:
        return ()
    return value if isinstance(value, list | tuple) else (value,)


def shown(tree: Tree | Fork) -> str:
    """Return *tree* as one line for messages."""
    if isinstance(tree, TaskNode):
        return tree.signature.task
    if isinstance(tree, Chain):
        return " | ".join(shown(step) for step in tree.steps)
    parts = tree.members if isinstance(tree, Group) else tree.branches
    more = f", … {len(parts) - 5} more" if len(parts) > 5 else ""
    return f"{'group' if isinstance(tree, Group) else 'fork'}({', '.join(shown(part) for part in parts[:5])}{more})"
