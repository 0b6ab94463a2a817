"""Forms of several tasks: chain, group, chord, fork, chunks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain as chained
from itertools import count
from typing import Any, TypeVar, overload

from sedano.canvas.form import Form, H, H_co, Publishes, tree_of
from sedano.errors import CanvasError, OptionError
from sedano.model.canvas.tree import CHOOSE, Chain, Fork, Group, optioned
from sedano.model.packs import SIZES
from sedano.result import GroupResult
from sedano.result.async_result import Answers, V_co

T1 = TypeVar("T1")
T2 = TypeVar("T2")
T3 = TypeVar("T3")
T4 = TypeVar("T4")
Pack = bool | int
"""How many members of a group share one message; True: as many as fit; False: one."""


class chain(Form[H_co]):  # noqa: N801 - Celery's name
    """Tasks in sequence, each called with the value of the one before; the step after a group runs when all members have ended.

    A chain of one form is that form.
    """

    @overload
    def __init__(self, last: Form[H_co], /) -> None: ...

    @overload
    def __init__(self, first: Form[Any] | fork, last: Form[H_co], /) -> None: ...

    @overload
    def __init__(self, first: Form[Any] | fork, second: Form[Any] | fork, last: Form[H_co], /) -> None: ...

    @overload
    def __init__(self, first: Form[Any] | fork, second: Form[Any] | fork, third: Form[Any] | fork, last: Form[H_co], /) -> None: ...

    @overload
    def __init__(self: chain[Any], *steps: Form[Any] | fork | Iterable[Form[Any] | fork]) -> None: ...

    def __init__(self, *steps: Form[Any] | fork | Iterable[Form[Any] | fork]) -> None:
        """Take forms, or one iterable of them.

        Raises:
            CanvasError: no form is given, or one is not a form.
        """
        parts = _several(steps)
        if not parts:
            raise CanvasError("a chain has at least one step: chain(first.s(…), second.s(…))")
        trees = tuple(p if isinstance(p, Fork) else tree_of(p) for p in parts)
        alone = trees[0] if len(trees) == 1 else None
        super().__init__(Chain(trees) if alone is None or isinstance(alone, Fork) else alone, _app(parts))

    def __call__(self, *args: Any, **kwargs: Any) -> H_co:
        """Publish it, as `delay` does."""
        return self.apply_async(args, kwargs)


class group(Form[GroupResult[V_co]]):  # noqa: N801 - Celery's name
    """Tasks in parallel; the value of the group is the list of their values, in order."""

    @overload
    def __init__(self: group[T1], one: Form[Answers[T1]], /, *, pack: Pack = ...) -> None: ...

    @overload
    def __init__(self: group[T1 | T2], first: Form[Answers[T1]], second: Form[Answers[T2]], /, *, pack: Pack = ...) -> None: ...

    @overload
    def __init__(
        self: group[T1 | T2 | T3], first: Form[Answers[T1]], second: Form[Answers[T2]], third: Form[Answers[T3]], /,
        *, pack: Pack = ...,
    ) -> None: ...

    @overload
    def __init__(
        self: group[T1 | T2 | T3 | T4], first: Form[Answers[T1]], second: Form[Answers[T2]], third: Form[Answers[T3]],
        fourth: Form[Answers[T4]], /, *, pack: Pack = ...,
    ) -> None: ...  # fmt: skip

    @overload
    def __init__(self: group[T1], members: Iterable[Form[Answers[T1]]], /, *, pack: Pack = ...) -> None: ...

    @overload
    def __init__(self: group[Any], *members: Form[Any] | Iterable[Form[Any]], pack: Pack = ...) -> None: ...

    def __init__(self, *members: Form[Any] | Iterable[Form[Any]], pack: Pack = False) -> None:
        """Take forms, or one iterable of them, which is read now.

        Args:
            members: the forms.
            pack: how many members share one message, one claim and one record: 2, 4, 8, 16, 32 or 64; True: as many as fit, which may be
                one; False: one. Only for members that are claimed tasks with the same options and without callbacks.

        Raises:
            CanvasError: one is not a form.
            OptionError: *pack* is another value. When the group is published: its members need messages of their own.
        """
        parts = _several(members)
        super().__init__(Group(tuple(map(tree_of, parts)), pack=_size(pack)), _app(parts))

    def __call__(self, *args: Any, **kwargs: Any) -> GroupResult[V_co]:
        """Publish it, as `delay` does."""
        return self.apply_async(args, kwargs)

    def delay(self, *args: Any, **kwargs: Any) -> GroupResult[V_co]:
        """Publish all members, with additional arguments for each, and return their results."""
        return super().delay(*args, **kwargs)

    def skew(self, start: float = 1.0, stop: float | None = None, step: float = 1.0) -> group[V_co]:
        """Return a copy whose members begin one after another: the first after *start* seconds, each *step* seconds later, at most *stop*.

        Raises:
            OptionError: a number of seconds is missing, or below 0. A delay longer than a canvas allows is refused when it is published.
        """
        delays = (start + number * step for number in count())
        whole = Group(
            tuple(optioned(m, {"countdown": d if stop is None else min(d, stop)}) for m, d in zip(self.members, delays, strict=False))
        )
        return self._changed(replace(self.tree, members=whole.members) if isinstance(self.tree, Group) else whole)

    @property
    def members(self) -> tuple[Any, ...]:
        """The trees of its members."""
        return self.tree.members if isinstance(self.tree, Group) else ()


class chord(Form[H_co]):  # noqa: N801 - Celery's name
    """A group (the header) and a body that runs with the list of its results. ``chord(header)(body)`` publishes it."""

    @overload
    def __init__(self, header: Iterable[Form[Any]] | Form[Any], body: Form[H_co], *, on_failure: str = ..., pack: Pack = ...) -> None: ...

    @overload
    def __init__(
        self: chord[Any], header: Iterable[Form[Any]] | Form[Any], body: None = ..., *, on_failure: str = ..., pack: Pack = ...
    ) -> None: ...

    def __init__(
        self, header: Iterable[Form[Any]] | Form[Any], body: Form[Any] | None = None, *, on_failure: str = "fail", pack: Pack = False
    ) -> None:
        """Take the header, and the body now or when called.

        Args:
            header: forms, or a group of them.
            body: the form that runs when every member has ended.
            on_failure: ``fail``: the body does not run when a member failed, and ends with the error of the first; ``outcomes``: it runs,
                with a list of one mapping for each member: its ``id``, its ``state``, and its ``value`` or its ``error``.
            pack: how many members of the header share one message, as in `group`, whose own value applies without it.

        Raises:
            OptionError: *pack* is not valid.
            CanvasError: the header holds an object that is not a form, or *on_failure* is neither of the two.
        """
        if on_failure not in ("fail", "outcomes"):
            raise CanvasError(f"on_failure: {on_failure!r} is neither 'fail' nor 'outcomes'")
        head = header if isinstance(header, group) else group(header)
        own = head.tree.pack if isinstance(head.tree, Group) else 0
        members = Group(tuple(head.members), outcomes=on_failure == "outcomes", pack=_size(pack) or own)
        if body is not None and not isinstance(body, Form):
            raise CanvasError(f"a chord's body is a signature (task.s(…)) or a form, not {type(body).__name__}")
        steps = (members,) if body is None else (members, tree_of(body))
        super().__init__(Chain(steps), head.app or (body.app if body is not None else None))
        self.has_body = body is not None

    @overload
    def __call__(self, body: Form[H], **options: Any) -> H: ...

    @overload
    def __call__(self, body: None = ..., **options: Any) -> H_co: ...

    def __call__(self, body: Form[Any] | None = None, **options: Any) -> Any:
        """Publish it with *body* and return the body's result; `result.parent` holds the header's."""
        return self._complete(body).apply_async(**options)

    def apply_async(self, *args: Any, **options: Any) -> Any:
        """Publish it; see `Form.apply_async`. The first argument may be the body."""
        if args and isinstance(args[0], Form):
            return self._complete(args[0]).apply_async(*args[1:], **options)
        if not self.has_body:
            raise CanvasError("a chord needs a body: chord([header…])(body)")
        return super().apply_async(*args, **options)

    def _complete(self, body: Form[Any] | None) -> chord[Any]:
        if body is None:
            return self
        if not isinstance(body, Form):
            raise CanvasError(f"a chord's body is a signature (task.s(…)) or a form, not {type(body).__name__}")
        if self.has_body or not isinstance(self.tree, Chain):
            raise CanvasError("a chord has one body: chord([header…])(body) or chord([header…], body)")
        whole = self._changed(Chain((*self.tree.steps, tree_of(body)), self.tree.watch))
        whole.has_body, whole.app = True, self.app or body.app
        return whole


class chunks(group[V_co]):  # noqa: N801 - Celery's name
    """A list of arguments split into parts, each processed by one message: a group of `starmap`s."""

    def group(self) -> group[V_co]:
        """Return the chunks as a group."""
        return self


class fork(Fork):  # noqa: N801 - a form like the others
    """Side branches of a chain: they get the value of the step before and run in parallel with the next step. No task waits for them.

    A failure of a branch is recorded and calls the canvas's error callbacks; it does not fail the canvas.
    """

    app: Publishes | None

    def __init__(self, *branches: Form[Any]) -> None:
        """Take the forms that run on the side.

        Raises:
            CanvasError: no form is given, or one is not a form.
        """
        if not branches:
            raise CanvasError("a fork has at least one branch: fork(side.s(…))")
        super().__init__(tuple(map(tree_of, branches)))
        object.__setattr__(self, "app", _app(branches))


def _size(pack: object) -> int:
    """Return how many members of a group share one message: 0 for one, `CHOOSE` for as many as fit.

    Raises:
        OptionError: *pack* is not a valid number.
    """
    if isinstance(pack, bool):
        return CHOOSE if pack else 0
    if not isinstance(pack, int) or pack not in SIZES:
        raise OptionError(f"pack: {pack!r} is not one of True, False, {', '.join(map(str, SIZES))}")
    return pack


def _several(parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the forms in *parts*: they themselves, or those of the one iterable among them."""
    if len(parts) == 1 and not isinstance(parts[0], Form | Fork):
        if not isinstance(parts[0], Iterable) or isinstance(parts[0], str | bytes | dict):
            raise CanvasError(f"a canvas consists of signatures (task.s(…)) and forms of them, not {type(parts[0]).__name__}")
        return tuple(parts[0])
    return parts


def _app(parts: Iterable[Any]) -> Publishes | None:
    return next((part.app for part in chained(parts) if isinstance(part, Form | fork) and part.app is not None), None)
