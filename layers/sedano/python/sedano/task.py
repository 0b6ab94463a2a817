"""A task as its author and its callers see it: the function itself when called, a message when `delay`ed."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, cast, overload

from sedano.canvas import Sig
from sedano.engine.registry import TaskSpec
from sedano.model.signature import Signature, given
from sedano.outlet import Outlet
from sedano.result import AsyncResult

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class Publishes(Protocol):
    """What a task needs of its app."""

    @property
    def outlet(self) -> Outlet:
        """The way out."""


class Task(Generic[P, R]):
    """One task. Calling it runs the body here and now; `delay` and `apply_async` publish it; `s` and `si` make signatures."""

    def __init__(self, spec: TaskSpec, app: Publishes) -> None:
        """Wrap *spec* for the users of *app*."""
        self.spec = spec
        self.name = spec.name
        self._app = app
        functools.update_wrapper(self, spec.function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the body here, as a plain call."""
        return cast("Callable[P, R]", self.spec.function)(*args, **kwargs)

    @overload
    def delay(self: Task[P, Coroutine[Any, Any, T]], *args: P.args, **kwargs: P.kwargs) -> AsyncResult[T]: ...

    @overload
    def delay(self, *args: P.args, **kwargs: P.kwargs) -> AsyncResult[R]: ...

    def delay(self, *args: P.args, **kwargs: P.kwargs) -> AsyncResult[Any]:
        """Publish the task with these arguments; return when the queue accepted it.

        Raises:
            ArgumentError: the arguments do not fit the task's parameters.
            Unserialisable: an argument cannot be written as JSON.
            BacklogFull: the queue is away and the backlog is full.
        """
        return self._app.outlet.publish(Signature(self.name, args, kwargs))

    @overload
    def apply_async(
        self: Task[P, Coroutine[Any, Any, T]], args: Sequence[Any] = ..., kwargs: Mapping[str, Any] | None = ..., **options: Any
    ) -> AsyncResult[T]: ...

    @overload
    def apply_async(self, args: Sequence[Any] = ..., kwargs: Mapping[str, Any] | None = ..., **options: Any) -> AsyncResult[R]: ...

    def apply_async(self, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None, **options: Any) -> AsyncResult[Any]:
        """Publish the task with options (see `sedano.model.signature.Options`).

        Raises:
            OptionError: an option is unknown, contradicts another or cannot be honoured; and what `delay` raises.
        """
        return self._app.outlet.publish(Signature(self.name, *given(args, kwargs)).set(**options))

    def s(self, *args: Any, **kwargs: Any) -> Sig:
        """Return a signature of this task; a canvas may put results before its arguments."""
        return Sig(Signature(self.name, args, kwargs), self._app)

    def si(self, *args: Any, **kwargs: Any) -> Sig:
        """Return an immutable signature: results of a canvas are not handed on to it."""
        return Sig(Signature(self.name, args, kwargs, immutable=True), self._app)
