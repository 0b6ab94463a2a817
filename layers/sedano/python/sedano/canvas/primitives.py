"""Several tasks together: chain, group, chord, fork, chunks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain as chained
from itertools import count
from typing import Any

from sedano.canvas.form import Form, Publishes, tree_of
from sedano.errors import CanvasError
from sedano.model.canvas.tree import Chain, Fork, Group, optioned
from sedano.result import AsyncResult, GroupResult


class chain(Form):  # noqa: N801 - Celery's name
    """Tasks after one another, each handed the value of the one before; what follows a group runs when all of it has ended.

    A chain of one is that one.
    """

    def __init__(self, *steps: Form | fork | Iterable[Form | fork]) -> None:
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

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Publish it, as `delay` does."""
        return self.apply_async(args, kwargs)


class group(Form):  # noqa: N801 - Celery's name
    """Tasks side by side; its value is the list of theirs, in order."""

    def __init__(self, *members: Form | Iterable[Form]) -> None:
        """Take forms, or one iterable of them, which is read now.

        Raises:
            CanvasError: one is not a form.
        """
        parts = _several(members)
        super().__init__(Group(tuple(map(tree_of, parts))), _app(parts))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Publish it, as `delay` does."""
        return self.apply_async(args, kwargs)

    def delay(self, *args: Any, **kwargs: Any) -> GroupResult:
        """Publish all members, with more arguments for each, and return their results."""
        result: GroupResult = super().delay(*args, **kwargs)
        return result

    def skew(self, start: float = 1.0, stop: float | None = None, step: float = 1.0) -> group:
        """Return a copy whose members begin one after another: the first after *start* seconds, each *step* seconds later, at most *stop*.

        Raises:
            OptionError: a number of seconds is missing, or below 0. A wait longer than a task of a canvas can have is refused when it is
                published.
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


class chord(Form):  # noqa: N801 - Celery's name
    """A group (the header) and a body that runs with the list of its results. ``chord(header)(body)`` publishes it."""

    def __init__(self, header: Iterable[Form] | Form, body: Form | None = None, *, on_failure: str = "fail") -> None:
        """Take the header, and the body now or when called.

        Args:
            header: forms, or a group of them.
            body: the form that runs when every member has ended.
            on_failure: ``fail``: the body does not run when a member failed, and ends with the error of the first; ``outcomes``: it runs,
                and is handed for each member a mapping with its ``id``, its ``state``, and its ``value`` or its ``error``.

        Raises:
            CanvasError: the header holds an object that is not a form, or *on_failure* is neither of the two.
        """
        if on_failure not in ("fail", "outcomes"):
            raise CanvasError(f"on_failure: {on_failure!r} is neither 'fail' nor 'outcomes'")
        head = header if isinstance(header, group) else group(header)
        members = Group(tuple(head.members), outcomes=on_failure == "outcomes")
        if body is not None and not isinstance(body, Form):
            raise CanvasError(f"a chord's body is a signature (task.s(…)) or a form, not {type(body).__name__}")
        steps = (members,) if body is None else (members, tree_of(body))
        super().__init__(Chain(steps), head.app or (body.app if body is not None else None))
        self.has_body = body is not None

    def __call__(self, body: Form | None = None, **options: Any) -> AsyncResult[Any]:
        """Publish it with *body* and return the body's result; `result.parent` holds the header's."""
        result: AsyncResult[Any] = self._complete(body).apply_async(**options)
        return result

    def apply_async(self, *args: Any, **options: Any) -> Any:
        """Publish it; see `Form.apply_async`. The first argument may be the body."""
        if args and isinstance(args[0], Form):
            return self._complete(args[0]).apply_async(*args[1:], **options)
        if not self.has_body:
            raise CanvasError("a chord needs a body: chord([header…])(body)")
        return super().apply_async(*args, **options)

    def _complete(self, body: Form | None) -> chord:
        if body is None:
            return self
        if not isinstance(body, Form):
            raise CanvasError(f"a chord's body is a signature (task.s(…)) or a form, not {type(body).__name__}")
        if self.has_body or not isinstance(self.tree, Chain):
            raise CanvasError("a chord has one body: chord([header…])(body) or chord([header…], body)")
        whole = self._changed(Chain((*self.tree.steps, tree_of(body)), self.tree.watch))
        whole.has_body, whole.app = True, self.app or body.app
        return whole


class chunks(group):  # noqa: N801 - Celery's name
    """A list of arguments in parts, each worked off by one message: a group of `starmap`s."""

    def group(self) -> group:
        """Return it as the group that it is."""
        return self


class fork(Fork):  # noqa: N801 - a form like the others
    """Side branches in a chain: handed the value of the step before, beside what follows it. No task waits for them.

    A failure of one is recorded and calls the canvas's error callbacks; it does not fail the canvas.
    """

    app: Publishes | None

    def __init__(self, *branches: Form) -> None:
        """Take the forms that run on the side.

        Raises:
            CanvasError: no form is given, or one is not a form.
        """
        if not branches:
            raise CanvasError("a fork has at least one branch: fork(side.s(…))")
        super().__init__(tuple(map(tree_of, branches)))
        object.__setattr__(self, "app", _app(branches))


def _several(parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the forms in *parts*: they themselves, or those of the one iterable among them."""
    if len(parts) == 1 and not isinstance(parts[0], Form | Fork):
        if not isinstance(parts[0], Iterable) or isinstance(parts[0], str | bytes | dict):
            raise CanvasError(f"a canvas is put together from signatures (task.s(…)) and forms of them, not {type(parts[0]).__name__}")
        return tuple(parts[0])
    return parts


def _app(parts: Iterable[Any]) -> Publishes | None:
    return next((part.app for part in chained(parts) if isinstance(part, Form | fork) and part.app is not None), None)
