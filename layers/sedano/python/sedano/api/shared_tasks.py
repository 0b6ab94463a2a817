"""Tasks of a reusable package, declared before any app exists (Celery's `shared_task`).

    # in the package
    shared = SharedTasks()

    @shared.task(queue="mail")
    def send(to: str) -> None: ...

    # in the program that uses it
    app = Sedano("shop", queues=("default", "mail"))
    app.include(shared)

Importing the package connects to nothing and needs no app. A shared task belongs to one app, so that its publications have one target.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from sedano.api.declaration import Declaration
from sedano.api.task_declarer import AppTasks, TaskDeclarer
from sedano.engine.declaration_origins import may_declare
from sedano.engine.publisher.publisher import Outlet
from sedano.engine.registry import Registry
from sedano.errors import ConfigurationError, OptionError, SedanoError
from sedano.model.retry import DEFAULT
from sedano.task import Task


class Shared(NamedTuple):
    """One shared task, its function and its declaration."""

    task: Task[Any, Any]
    function: Callable[..., Any]
    declaration: Declaration


class SharedTasks(TaskDeclarer):
    """The tasks of a reusable package. `task` declares them as `Sedano.task` does; `app.include(shared)` enters them into an app.

    Before that a task can be called as a function and be part of a canvas; publishing it raises `ConfigurationError`.
    """

    def __init__(self) -> None:
        """Begin without tasks and without an app."""
        self.tasks: dict[str, Shared] = {}
        self._declared = Registry()
        self._app: AppTasks | None = None

    def permits(self, declaration: Declaration) -> None:
        """Check a declaration against the app that includes these tasks, if there is one; see `Sedano.permits`."""
        if self._app is not None:
            self._app.permits(declaration)

    def declared(self, function: Callable[..., Any], declaration: Declaration) -> Task[Any, Any]:
        """Return the task of *function* by *declaration*; an app that already includes these tasks gets it at once.

        Raises:
            OptionError: another of these tasks has the name, or an option cannot be honoured.
        """
        spec = declaration.spec(function, DEFAULT)
        if not may_declare(self._declared, f"task {spec.name}", function, spec.name in self.tasks):
            raise OptionError(f"task {spec.name}: declared twice; give one of them another name")
        task: Task[Any, Any] = Task(spec, self)
        if declaration.bind:
            task.spec = spec._replace(function=functools.partial(function, task))
        shared = Shared(task, function, declaration)
        if self._app is not None:
            _adopt(self._app, shared)
        self.tasks[spec.name] = shared
        return task

    def included_in(self, app: AppTasks) -> None:
        """Enter these tasks into *app*: all of them, or none. `Sedano.include` calls this.

        An app of the same name replaces the one before, because reloading a module, or the next test, makes the app again.

        Raises:
            OptionError: they are included in an app of another name, or *app* cannot take one of them.
        """
        if self._app is app:
            return
        if self._app is not None and self._app.name != app.name:
            raise OptionError(
                f"include: the app {self._app.name!r} includes these tasks ({self._some()}), and a task publishes through one app; "
                f"remove app.include(…) from one of {self._app.name!r} and {app.name!r}"
            )
        for name, shared in self.tasks.items():
            if name in app.registry.tasks:
                raise OptionError(f"include: the app {app.name!r} already has a task {name}; give one of them another name")
            try:
                app.permits(shared.declaration)
            except OptionError as wrong:
                raise OptionError(f"include: the shared task {name}: {wrong}") from None
        self._enter(app)
        self._app = app

    def _enter(self, app: AppTasks) -> None:
        before = dict(app.registry.tasks)
        try:
            for shared in self.tasks.values():
                _adopt(app, shared)
        except SedanoError:
            app.registry.tasks.clear()
            app.registry.tasks.update(before)
            raise

    @property
    def outlet(self) -> Outlet:
        """The publisher of the app that includes these tasks.

        Raises:
            ConfigurationError: no app includes them yet.
        """
        if self._app is None:
            raise ConfigurationError(
                f"no app includes these shared tasks ({self._some()}), so they cannot be published; write app.include(…) in the module of "
                "your app, and import that module first"
            )
        return self._app.outlet

    def _some(self) -> str:
        names = list(self.tasks)
        return ", ".join(names[:3]) + (f", … {len(names) - 3} more" if len(names) > 3 else "")


def _adopt(app: AppTasks, shared: Shared) -> None:
    declaration = shared.declaration.routed(shared.function, app.registry)
    app.permits(declaration)
    shared.task.spec = declaration.spec(shared.function, app.retry)
    app.adopt(shared.task, shared.function, declaration)
