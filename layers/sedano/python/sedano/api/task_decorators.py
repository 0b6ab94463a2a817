"""The types of decorators such as `@app.task(…)`: one overload for `async def`, one for `def`. Only type checkers load this module."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Concatenate, Protocol, TypeVar, overload

from sedano.task import AsyncTask, P, R, SyncTask, Task

if TYPE_CHECKING:
    from sedano.model.collection import Call

Declared = TypeVar("Declared", bound=Task[Any, Any])


class Declares(Protocol):
    """Turns a function into a task."""

    @overload
    def __call__(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> AsyncTask[P, R]: ...  # type: ignore[overload-overlap] # pyright: ignore[reportOverlappingOverload]

    @overload
    def __call__(self, function: Callable[P, R], /) -> SyncTask[P, R]: ...


class DeclaresBound(Protocol):
    """Turns a function that takes the task itself first into a task."""

    @overload
    def __call__(self, function: Callable[Concatenate[Any, P], Coroutine[Any, Any, R]], /) -> AsyncTask[P, R]: ...  # type: ignore[overload-overlap] # pyright: ignore[reportOverlappingOverload]

    @overload
    def __call__(self, function: Callable[Concatenate[Any, P], R], /) -> SyncTask[P, R]: ...


class DeclaresBatch(Protocol):
    """Turns a function that takes a list of calls into a task."""

    @overload
    def __call__(self, function: Callable[[list[Call]], Coroutine[Any, Any, R]], /) -> AsyncTask[..., R]: ...  # type: ignore[overload-overlap] # pyright: ignore[reportOverlappingOverload]

    @overload
    def __call__(self, function: Callable[[list[Call]], R], /) -> SyncTask[..., R]: ...


class DeclaresPeriodic(Protocol):
    """Turns a task or a function into a periodic task."""

    @overload
    def __call__(self, function: Declared, /) -> Declared: ...  # type: ignore[overload-overlap] # pyright: ignore[reportOverlappingOverload]

    @overload
    def __call__(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> AsyncTask[P, R]: ...  # type: ignore[overload-overlap] # pyright: ignore[reportOverlappingOverload]

    @overload
    def __call__(self, function: Callable[P, R], /) -> SyncTask[P, R]: ...
