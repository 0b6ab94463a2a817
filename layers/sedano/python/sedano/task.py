"""Tasks: calling one runs the function, `delay` publishes a message that runs it in a worker."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, NoReturn, ParamSpec, Protocol, TypeVar, Unpack

from sedano.engine.publisher.publisher import Outlet
from sedano.engine.task_context import TaskContext, current
from sedano.errors.hints import Hinting
from sedano.model.tasks.signature import Signature, given
from sedano.model.tasks.task_spec import TaskSpec

if TYPE_CHECKING:
    from sedano.canvas import Form, Sig, chunks
    from sedano.model.tasks.published_options import LinkedOptions
    from sedano.result import AsyncResult

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
"""The type of a result: the return type of a `def`, the awaited type of an `async def`."""


@functools.cache
def _publish() -> Callable[[Outlet, Signature], AsyncResult[Any]]:
    """Return the function that publishes a task; imported at the first publication, because many workers publish nothing."""
    from sedano.result.publication import publish

    return publish


class TaskApp(Protocol):
    """The part of an app that a task needs."""

    @property
    def outlet(self) -> Outlet:
        """The publisher."""


class Task(Hinting, Generic[P, R_co]):
    """One task. Calling it runs the body in this process; `delay` and `apply_async` publish it; `s` and `si` make signatures.

    Type checkers see one of two subclasses, `SyncTask` and `AsyncTask`, which differ in what a call returns.
    """

    def __init__(self, spec: TaskSpec, app: TaskApp) -> None:
        """Wrap *spec* for the users of *app*."""
        self.spec = spec
        self.name = spec.name
        self._app = app
        functools.update_wrapper(self, spec.function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """Run the body here, as a plain call."""
        return self.spec.function(*args, **kwargs)

    def delay(self, *args: P.args, **kwargs: P.kwargs) -> AsyncResult[R_co]:
        """Publish the task with these arguments; return its result when the queue has accepted it.

        Raises:
            ArgumentError: the arguments do not fit the task's parameters.
            Unserialisable: an argument cannot be written as JSON.
            BacklogFull: the queue cannot be reached and the backlog is full.
        """
        return _publish()(self._app.outlet, Signature(self.name, args, kwargs))

    def apply_async(
        self, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None, **options: Unpack[LinkedOptions]
    ) -> AsyncResult[R_co]:
        """Publish the task with options (see `sedano.model.tasks.signature.Options`), also ``link`` and ``link_error``: callbacks.

        Raises:
            OptionError: an option is unknown, contradicts another or cannot be honoured; and what `delay` raises.
        """
        if "link" in options or "link_error" in options:
            return self.s().apply_async(args, kwargs, **options)
        return _publish()(self._app.outlet, Signature(self.name, *given(args, kwargs)).set(**options))

    def s(self, *args: Any, **kwargs: Any) -> Sig[R_co]:
        """Return a signature of this task; a canvas may put results before its arguments."""
        return self._signed(Signature(self.name, args, kwargs))

    def signature(
        self, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None, *, immutable: bool = False,
        **options: Unpack[LinkedOptions],
    ) -> Sig[R_co]:  # fmt: skip
        """Return a signature of this task with options; ``immutable=True``: results of previous tasks are not passed to it."""
        return self._signed(Signature(self.name, *given(args, kwargs), immutable=bool(immutable))).set(**options)

    def map(self, items: Iterable[Any]) -> Sig[list[Any]]:
        """Return the signature of one message that calls this task with each of *items*; its value is the list of the results, as plain
        JSON.

        Raises:
            ArgumentError: an item does not fit.
        """
        return self._mapped(items, star=False)

    def starmap(self, items: Iterable[Sequence[Any]]) -> Sig[list[Any]]:
        """Return the signature of one message that calls this task with the arguments in each of *items*.

        Raises:
            ArgumentError: the arguments of one call do not fit.
        """
        return self._mapped(items, star=True)

    def chunks(self, items: Iterable[Sequence[Any]], n: int) -> chunks[list[Any]]:
        """Return the group of starmaps over *items*, *n* calls in each message.

        Raises:
            OptionError: *n* is not a number above 0.
            ArgumentError: the arguments of one call do not fit.
        """
        from sedano.canvas.maps import in_chunks

        return in_chunks(self.spec, self._app, items, n)

    @property
    def request(self) -> TaskContext:
        """The current run of this task: its id, attempt, root and stamps.

        Raises:
            SedanoError: no task is running here.
        """
        return current()

    def replace(self, form: Form[Any]) -> NoReturn:
        """End the current run of this task and let *form* provide its result instead; see `sedano.canvas.replacement.replace`."""
        from sedano.canvas.replacement import replace

        replace(form, self._app)

    def add_to_chord(self, form: Form[Any]) -> AsyncResult[Any]:
        """Add *form* to the chord that the running task is a member of; see `sedano.canvas.replacement.add_to_chord`."""
        from sedano.canvas.replacement import add_to_chord

        return add_to_chord(form, self._app)

    def si(self, *args: P.args, **kwargs: P.kwargs) -> Sig[R_co]:
        """Return an immutable signature: results of previous tasks are not passed to it."""
        return self._signed(Signature(self.name, args, kwargs, immutable=True))

    def _signed(self, signature: Signature) -> Sig[Any]:
        from sedano.canvas import Sig

        return Sig(signature, self._app)

    def _mapped(self, items: Iterable[Any], *, star: bool) -> Sig[Any]:
        from sedano.canvas.maps import mapped

        return mapped(self.spec, self._app, items, star=star)


if TYPE_CHECKING:

    class SyncTask(Task[P, R_co]):
        """A task made of a `def`: calling it returns its value."""

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
            """Run the body here, as a plain call."""

    class AsyncTask(Task[P, R_co]):
        """A task made of an `async def`: calling it returns a coroutine of its value."""

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R_co]:
            """Return the body's coroutine, as a plain call."""

else:
    SyncTask = AsyncTask = Task
