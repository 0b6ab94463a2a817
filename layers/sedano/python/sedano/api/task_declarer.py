"""`@app.task(…)` and `@shared.task(…)`, the decorators that turn a function into a task, and the tasks of an app."""

from __future__ import annotations

import functools
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, Unpack, cast, overload

from sedano.api.declaration import Declaration, declared
from sedano.engine.declaration_origins import may_declare
from sedano.engine.publisher.publisher import Outlet
from sedano.engine.registry import Registry
from sedano.errors import OptionError
from sedano.model.retry import Retry
from sedano.task import AsyncTask, P, R, SyncTask, Task

if TYPE_CHECKING:
    from sedano.api.task_decorators import Declares, DeclaresBatch, DeclaresBound
    from sedano.api.task_options import TaskOptions


class TaskDeclarer(ABC):
    """Declares tasks: an app, or the shared tasks of a package."""

    @overload
    def task(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> AsyncTask[P, R]: ...  # type: ignore[overload-overlap] # pyright: ignore[reportOverlappingOverload]

    @overload
    def task(self, function: Callable[P, R], /) -> SyncTask[P, R]: ...

    @overload
    def task(self, /, *, bind: Literal[False] = ..., **options: Unpack[TaskOptions]) -> Declares: ...

    @overload
    def task(self, /, *, batch: tuple[int, float | str], **options: Unpack[TaskOptions]) -> DeclaresBatch: ...

    @overload
    def task(self, /, *, bind: Literal[True], **options: Unpack[TaskOptions]) -> DeclaresBound: ...

    def task(self, function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
        """Declare a task; use the decorator with or without options.

        Args:
            function: the function that is the task.
            options: see `sedano.api.task_options.TaskOptions`; and ``bind=True``: the function takes the task itself first:
                `self.request`, `self.replace(…)`, `self.add_to_chord(…)`; ``batch=(100, "5s")``: up to 100 calls, collected for up to 5
                seconds, become one call of the function with a list of `sedano.Call`.

        Raises:
            OptionError: an option is unknown or cannot be honoured, or another task has the name.
        """
        declaration = declared(options)
        self.permits(declaration)
        if function is not None:
            return self.declared(function, declaration)
        return lambda f: self.declared(f, declaration)

    @abstractmethod
    def permits(self, declaration: Declaration) -> None:
        """Check a declaration before the function is known; raise `OptionError` if it cannot be honoured here."""

    @abstractmethod
    def declared(self, function: Callable[..., Any], declaration: Declaration) -> Task[Any, Any]:
        """Return the task of *function* by *declaration*."""


class Includable(Protocol):
    """Tasks that an app can include: `sedano.SharedTasks`."""

    def included_in(self, app: AppTasks) -> None:
        """Add the tasks to *app*."""


class AppTasks(TaskDeclarer):
    """The tasks of an app: its own, and the shared tasks that it includes."""

    name: str
    queues: tuple[str, ...]
    retry: Retry
    registry: Registry

    @property
    @abstractmethod
    def outlet(self) -> Outlet:
        """The publisher."""

    def include(self, *shared: Includable) -> None:
        """Include the tasks of reusable packages (`sedano.SharedTasks`), also those that a package declares later.

        A shared task then publishes through this app, runs in its workers, and has its default retry policy.

        Raises:
            OptionError: a task names a queue that this app does not have, has the name of another task, or has an option that cannot be
                honoured; the tasks are included in another app.
        """
        for one in shared:
            one.included_in(self)

    def boxed(
        self, name: str, command: Sequence[str | os.PathLike[str]] | None = None, /, *, function: str | None = None, pool: int = 1,
        memory: str | None = None, timeout: float = 60.0, cwd: str | os.PathLike[str] | None = None, env: Mapping[str, str] | None = None,
        credentials: bool = False, calls_per_child: int | None = None, **options: Unpack[TaskOptions],
    ) -> AsyncTask[..., Any]:  # fmt: skip
        """Declare a boxed task: its body is a program in any language, in processes of its own, or a Lambda function (docs/boxes.md).

        Args:
            name: how messages name the task.
            command: the program and its arguments, without a shell. Workers need the program; programs that only publish do not.
            function: the key of a Lambda function that is the program; the setting ``functions=`` maps it to an ARN. With a command too,
                the command runs where the deployment calls no functions.
            pool: how many processes each worker keeps and runs at once, or how many calls of the function, 1 to 256.
            memory: the data that each process may allocate, as ``"512M"`` or ``"2G"``; enforced on Linux.
            timeout: seconds for one call; a process that takes longer is killed with its group, and the attempt has failed. The worker
                stops waiting for a function that takes longer; the function's own time limit ends it.
            cwd: the folder in which the program starts; by default that of the worker.
            env: variables for the program, in addition to PATH, LANG and a few more of the worker's.
            credentials: pass on the worker's AWS credentials.
            calls_per_child: calls after which a process is replaced.
            options: the options of `task`, without `batch` and `bind`.

        Raises:
            OptionError: an option is unknown or cannot be honoured, or another task has the name.
            PortMissing: there is no command, and the app is connected to a deployment that calls no functions.
        """
        from sedano.api import boxes

        permitted = boxes.permitted(options)
        plan = boxes.plan_of(
            name, command, pool=pool, memory=memory, timeout=timeout, cwd=cwd, env=env, credentials=credentials,
            calls_per_child=calls_per_child, function=function,
        )  # fmt: skip
        declaration = declared({"name": name, **permitted})
        self.permits(declaration)
        if command is None:
            self.registry.need("functions", f"the boxed task {name}")
        body = boxes.BoxBody(plan, self.registry)
        task = self.declared(body.function, declaration)
        self.registry.boxes[task.name] = body.close
        return cast("AsyncTask[..., Any]", task)

    def declared(self, function: Callable[..., Any], declaration: Declaration) -> Task[Any, Any]:
        """Add the task of *function* by *declaration* to this app and return it.

        Raises:
            OptionError: no route gives it a queue, and this app does not have the default one; or what `adopt` raises.
        """
        declaration = declaration.routed(function, self.registry)
        self.permits(declaration)
        return self.adopt(Task(declaration.spec(function, self.retry), self), function, declaration)

    def permits(self, declaration: Declaration) -> None:
        """Check a declaration against this app.

        Raises:
            OptionError: this app does not have the queue.
        """
        queue = declaration.queue_or_default
        if queue not in self.queues and (declaration.queue is not None or not self.registry.routes):
            raise OptionError(f"queue: {queue!r} is not one of this app's queues {self.queues}; add it to Sedano(queues=…)")

    def adopt(self, task: Task[Any, Any], function: Callable[..., Any], declaration: Declaration) -> Task[Any, Any]:
        """Add *task* to this app and return it; its spec is that of *function*, without limits, circuit and binding.

        Raises:
            OptionError: another task has the name, or an option cannot be honoured.
        """
        spec = task.spec
        if not may_declare(self.registry, f"task {spec.name}", function, spec.name in self.registry.tasks):
            raise OptionError(f"task {spec.name}: declared twice; give one of them another name")
        if spec.name in self.registry.kinds:
            raise OptionError(f"task {spec.name}: a kind of documents has this name (app.document); give one of them another name")
        for port, option in declaration.needs.items():
            self.registry.need(port, f"the task {spec.name} ({option}=)")
        if declaration.circuit:
            from sedano.api.health import guarded

            spec = guarded(spec, declaration.circuit, self.registry)
        if declaration.limits:
            from sedano.api.limits import limited

            spec = limited(spec, declaration.limits, self.registry, self.queues)
        task.spec = spec._replace(function=functools.partial(spec.function, task)) if declaration.bind else spec
        self.registry.tasks[spec.name] = task.spec
        if declaration.sinks is not None or declaration.on is not None or spec.name in self.registry.documents:
            from sedano.api.documents import connect

            connect(self.registry, task, declaration)
        return task
