"""The declaration of hooks, a mixin of the app: functions that are called beside every task."""

from __future__ import annotations

from collections.abc import Callable
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, TypeVar

from sedano.engine.registry import Registry
from sedano.errors import OptionError

if TYPE_CHECKING:
    from sedano.engine.hooks import EndedRun, Publication
    from sedano.engine.task_context import TaskContext

PublishHook = TypeVar("PublishHook", bound="Callable[[Publication], object]")
BeforeHook = TypeVar("BeforeHook", bound="Callable[[TaskContext], object]")
AfterHook = TypeVar("AfterHook", bound="Callable[[TaskContext, BaseException | None], object]")
EndHook = TypeVar("EndHook", bound="Callable[[EndedRun], object]")
StartHook = TypeVar("StartHook", bound="Callable[[], object]")


class Hooked:
    """The hooks of an app. An exception from a hook is logged and counted as `HooksFailed`; the task goes on."""

    registry: Registry

    def on_publish(self, function: PublishHook) -> PublishHook:
        """Call *function* with each task (`sedano.Publication`) that a program or a body sends, before it is sent.

        A body's tasks are sent after its success is recorded; the hook is called when the body publishes them. It is not called for what
        workers send themselves: retries, later steps of a canvas, periodic tasks, tasks that an event starts.

        Raises:
            OptionError: *function* cannot be called, or is async.
        """
        self._add("on_publish", function)
        return function

    def before_run(self, function: BeforeHook) -> BeforeHook:
        """Call *function* with the running task (`sedano.current()`) before each body, on the body's thread and in its context.

        Context variables that it sets are seen by the body. Its time counts towards the time limits of the task.

        Raises:
            OptionError: *function* cannot be called, or is async.
        """
        self._add("before_run", function)
        return function

    def after_run(self, function: AfterHook) -> AfterHook:
        """Call *function* with the running task and the exception that its body raised (or None) after each body, where it ran.

        Nothing is recorded yet: the outcome may still be refused, or the process may die, and then the task runs again.

        Raises:
            OptionError: *function* cannot be called, or is async.
        """
        self._add("after_run", function)
        return function

    def on_retry(self, function: EndHook) -> EndHook:
        """Call *function* with each run (`sedano.EndedRun`) after which the task is tried again, when that is recorded.

        Raises:
            OptionError: *function* cannot be called, or is async.
        """
        self._add("on_retry", function)
        return function

    def on_failure(self, function: EndHook) -> EndHook:
        """Call *function* with each run (`sedano.EndedRun`) with which a task failed for good, when that is recorded.

        It is called at most once for each failure: a process that dies between the record and the call does not call it. The
        history and the log line of the failure do not depend on it.

        Raises:
            OptionError: *function* cannot be called, or is async.
        """
        self._add("on_failure", function)
        return function

    def on_revoke(self, function: EndHook) -> EndHook:
        """Call *function* with each run (`sedano.EndedRun`) that ends as REVOKED or EXPIRED, when a worker has recorded that.

        The task was revoked while an attempt ran or by a header, its `expires` passed, its body raised `Ignore`, a later call of a debounce
        or a busy singleton took its place, or a step before it in a canvas ended so. It is not called for a task that was revoked by its
        id while no attempt ran: the program that revoked it has recorded the end. It is called at most once for each end: a process that
        dies between the record and the call does not call it.

        Raises:
            OptionError: *function* cannot be called, or is async.
        """
        self._add("on_revoke", function)
        return function

    def on_worker_start(self, function: StartHook) -> StartHook:
        """Call *function* once in each worker process, after its boot steps and before its first task (`app.boot` can also stop it).

        Raises:
            OptionError: *function* cannot be called, or is async.
        """
        self._add("on_worker_start", function)
        return function

    def use(self, middleware: object) -> None:
        """Add the hooks of *middleware*: those of its methods whose names are the names of hooks.

        Args:
            middleware: any object, or a module, with at least one function named ``on_publish``, ``before_run``, ``after_run``,
                ``on_retry``, ``on_failure``, ``on_revoke`` or ``on_worker_start``.

        Raises:
            OptionError: it has none, or one of them cannot be called, or is async.
        """
        from sedano.engine.hooks import NAMES

        found = {name: getattr(middleware, name) for name in NAMES if hasattr(middleware, name)}
        if not found:
            raise OptionError(f"use: {type(middleware).__name__} has none of the hooks {', '.join(NAMES)}; name a method so")
        for name, function in found.items():
            _check(name, function)
        for name, function in found.items():
            self._add(name, function)

    def _add(self, name: str, function: Any) -> None:
        _check(name, function)
        self.registry.hooks.setdefault(name, []).append(function)


def _check(name: str, function: Any) -> None:
    if not callable(function):
        raise OptionError(f"{name}: {function!r} cannot be called; give a function")
    if iscoroutinefunction(function):
        raise OptionError(f"{name}: {function.__name__} is an async function; a hook is a plain `def`, which must not wait")
