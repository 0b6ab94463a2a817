"""Runs Django's tasks: one sedano task for all `def` functions of a backend, and one for all `async def` functions.

A message names a Django task by its path. The path is a key into this process's registered tasks: a task is registered when
`sedano.django.apps` or the project imports its module. A message never causes an import.
"""

from __future__ import annotations

import hashlib
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from inspect import iscoroutinefunction
from os import getpid
from platform import node
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

from asgiref.sync import sync_to_async

from sedano.app import Sedano
from sedano.django.interface import (
    Task,
    TaskContext,
    TaskError,
    TaskResult,
    TaskResultStatus,
    normalize_json,
    task_finished,
    task_started,
)
from sedano.engine.task_context import current
from sedano.errors import UnknownTask
from sedano.model.retry import Retry

DIGEST = 12
"""Characters of an id that name its task."""
_RUNNERS: WeakKeyDictionary[Sedano, dict[str, Runner]] = WeakKeyDictionary()
_DECLARING = Lock()


def runner_of(app: Sedano, alias: str, retry: Retry | bool | None, sender: type) -> Runner:
    """Return the runner of the backend *alias* in *app*, declared at the first call: Django makes a backend in each thread."""
    with _DECLARING:
        runners = _RUNNERS.setdefault(app, {})
        if alias not in runners:
            runners[alias] = Runner(app, alias, retry, sender)
        return runners[alias]


def digest_of(path: str) -> str:
    """Return the digest that names the task *path* in an id."""
    return hashlib.sha256(path.encode()).hexdigest()[:DIGEST]


class Runner:
    """The known Django tasks of one backend, and the sedano tasks that run them."""

    def __init__(self, app: Sedano, alias: str, retry: Retry | bool | None, sender: type) -> None:
        """Declare the two tasks in *app*; *sender* is the class of the backend, from which signals are sent."""
        self.alias, self.sender = alias, sender
        self.known: dict[str, Any] = {}
        queue = app.queues[0]
        self.task = app.task(name=f"sedano.django.{alias}.run", queue=queue, retry=retry)(self._run)
        self.async_task = app.task(name=f"sedano.django.{alias}.run_async", queue=queue, retry=retry)(self._run_async)

    def know(self, task: Task[..., Any]) -> None:
        """Remember *task*, so that messages can name it."""
        self.known[task.module_path] = task

    def task_for(self, task: Task[..., Any]) -> str:
        """Return the name of the sedano task that runs *task*."""
        return self.async_task.name if iscoroutinefunction(task.func) else self.task.name

    def by_digest(self, digest: str) -> Any:
        """Return the task that an id names; None if it is not registered in this process."""
        return next((task for path, task in self.known.items() if digest_of(path) == digest), None)

    def _run(self, path: str, args: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
        result = self._begin(path, args, kwargs)
        try:
            value = normalize_json(result.task.call(*_arguments(result), **result.kwargs))
        except Exception as wrong:
            self._failed(result, wrong)
            raise
        return self._succeeded(result, value)

    async def _run_async(self, path: str, args: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
        result = await sync_to_async(self._begin)(path, args, kwargs)
        try:
            value = normalize_json(await result.task.func(*_arguments(result), **result.kwargs))
        except Exception as wrong:
            await sync_to_async(self._failed)(result, wrong)
            raise
        return await sync_to_async(self._succeeded)(result, value)

    def _begin(self, path: str, args: list[Any], kwargs: dict[str, Any]) -> TaskResult[Any]:
        task, run, now = self.known.get(path), current(), datetime.now(UTC)
        if task is None:
            raise UnknownTask(f"no task {path!r} of django.tasks here; declare it in the module `tasks` of an installed app")
        result: TaskResult[Any] = TaskResult(
            task=task, id=run.id, status=TaskResultStatus.RUNNING, enqueued_at=enqueued_at(run.id), started_at=now, finished_at=None,
            last_attempted_at=now, args=args, kwargs=kwargs, backend=self.alias, errors=[],
            worker_ids=[f"{node()}.{getpid()}"] * (run.attempt + 1),
        )  # fmt: skip
        task_started.send(self.sender, task_result=result)
        return result

    def _failed(self, result: TaskResult[Any], wrong: Exception) -> None:
        """Send the signal of a failure that is not retried."""
        run = current()
        policy = self._policy(run.task)
        if run.attempt < policy.most_retries:
            return
        path = f"{type(wrong).__module__}.{type(wrong).__qualname__}"
        result.errors.append(TaskError(exception_class_path=path, traceback="".join(traceback.format_exception(wrong))))
        self._ended(result, TaskResultStatus.FAILED, None)

    def _policy(self, name: str) -> Retry:
        return (self.task if name == self.task.name else self.async_task).spec.retry

    def _succeeded(self, result: TaskResult[Any], value: Any) -> dict[str, Any]:
        self._ended(result, TaskResultStatus.SUCCESSFUL, value)
        return {
            "value": value, "args": result.args, "kwargs": result.kwargs, "started_at": _text(result.started_at),
            "finished_at": _text(result.finished_at),
        }  # fmt: skip

    def _ended(self, result: TaskResult[Any], status: TaskResultStatus, value: Any) -> None:
        changes = {"status": status, "_return_value": value, "finished_at": datetime.now(UTC)}
        for name, change in changes.items():
            object.__setattr__(result, name, change)  # as Django's own backends do: a result is frozen for its readers
        task_finished.send(self.sender, task_result=result)


def enqueued_at(task_id: str) -> datetime | None:
    """Return when the task with this id was enqueued; None for an id that no backend made."""
    parts = task_id.split("-", 2)
    try:
        return datetime.fromtimestamp(int(parts[1], 16) / 1000, UTC)
    except (IndexError, ValueError, OverflowError, OSError):
        return None


def new_id(path: str, when: float, fresh: str) -> str:
    """Return the id of a call of the task *path*, of at most 64 characters.

    Args:
        path: the task's path; the id contains its digest.
        when: the moment at which the task was enqueued, in epoch seconds.
        fresh: an id that no other call has.
    """
    return f"{digest_of(path)}-{int(when * 1000):x}-{fresh}"


def _arguments(result: TaskResult[Any]) -> Sequence[Any]:
    return [TaskContext(task_result=result), *result.args] if result.task.takes_context else result.args


def _text(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment is not None else None
