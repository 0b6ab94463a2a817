"""The types of decorators such as `@app.task(…)`: one overload for `async def`, one for `def`. Only type checkers load this module."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Concatenate, Protocol, TypeVar, overload

from sedano.task import AsyncTask, P, R, SyncTask, Task

if TYPE_CHECKING:
    from sedano.model.collection import Call

Declared = TypeVar("Declared", bound=Task[Any, Any])


class Declares(Protocol):
    """Makes a task of a function."""

    @overload
    def __call__(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> AsyncTask[P, R]: ...  # type: ignore[overload-overlap] # pyright: ignore[reportOverlappingOverload]

    @overload
    def __call__(self, function: Callable[P, R], /) -> SyncTask[P, R]: ...


class DeclaresBound(Protocol):
    """Makes a task of a function that takes the task itself first."""

    @overload
    def __call__(self, function: Callable[Concatenate[Any, P], Coroutine[Any, Any, R]], /) -> AsyncTask[P, R]: ...  # type: ignore[overload-overlap] # pyright: ignore[reportOverlappingOverload]

    @overload
    def __call__(self, function: Callable[Concatenate[Any, P], R], /) -> SyncTask[P, R]: ...


class DeclaresBatch(Protocol):
    """Makes a task of a function that takes a list of calls."""

    @overload
    def __call__(self, function: Callable[[list[Call]], Coroutine[Any, Any, R]], /) -> AsyncTask[..., R]: ...  # type: ignore[overload-overlap] # pyright: ignore[reportOverlappingOverload]

    @overload
    def __call__(self, function: Callable[[list[Call]], R], /) -> SyncTask[..., R]: ...


class DeclaresPeriodic(Protocol):
    """Makes a periodic task of a task or of a function."""

    @overload
    def __call__(self, function: Declared, /) -> Declared: ...  # type: ignore[overload-overlap] # pyright: ignore[reportOverlappingOverload]

    @overload
    def __call__(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> AsyncTask[P, R]: ...  # type: ignore[overload-overlap] # pyright: ignore[reportOverlappingOverload]

    @overload
    def __call__(self, function: Callable[P, R], /) -> SyncTask[P, R]: ...
