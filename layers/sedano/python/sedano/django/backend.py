"""A backend for Django's own tasks (`django.tasks`): reusable apps that use them run on sedano unchanged.

    TASKS = {"default": {"BACKEND": "sedano.django.backend.SedanoBackend", "OPTIONS": {"retry": False}}}

`get_result` finds the task by the id, which names it. A task has no record until a worker begins it, so an id that was never enqueued is
also READY. The result of a task that succeeded has all times and arguments; other results only have the time at which the task was
enqueued.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.utils import timezone

from sedano.app import Sedano, load
from sedano.django import configured_app
from sedano.django.interface import (
    BaseTaskBackend,
    Task,
    TaskError,
    TaskResult,
    TaskResultDoesNotExist,
    TaskResultStatus,
    task_enqueued,
)
from sedano.django.runner import Runner, enqueued_at, new_id, runner_of
from sedano.engine.task_context import CURRENT
from sedano.errors import RemoteError
from sedano.model import states
from sedano.model.ledger.records import TaskRecord
from sedano.result import AsyncResult

_STATUS = {
    states.PENDING: TaskResultStatus.READY, states.RETRY: TaskResultStatus.READY, states.RUNNING: TaskResultStatus.RUNNING,
    states.SUCCESS: TaskResultStatus.SUCCESSFUL,
}  # fmt: skip
"""The status of a task by its state; any other state is an end without success."""


class SedanoBackend(BaseTaskBackend):  # type: ignore[misc] # Django has no types
    """Enqueues tasks of `django.tasks` on sedano.

    ``QUEUES`` are by default those of the app. ``OPTIONS``: ``app``, which app (by default that of the setting SEDANO_APP), and ``retry``,
    the retry policy (by default the app's).
    """

    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = False

    def __init__(self, alias: str, params: Mapping[str, Any]) -> None:
        """Begin with the settings of the backend *alias*."""
        options = params.get("OPTIONS", {})
        app = options.get("app")
        self.app: Sedano = load(app, f"settings.TASKS[{alias!r}]['OPTIONS']['app']") if app is not None else configured_app()
        super().__init__(alias, {"QUEUES": self.app.queues, **params})
        self.runner: Runner = runner_of(self.app, alias, options.get("retry"), type(self))

    def validate_task(self, task: Task[..., Any]) -> None:
        """Check *task* when it is declared, and remember it."""
        super().validate_task(task)
        self.runner.know(task)

    def enqueue(self, task: Task[..., Any], args: Any, kwargs: Any) -> TaskResult[Any]:
        """Publish a call of *task* and return its result."""
        self.validate_task(task)
        outlet, run = self.app.outlet, CURRENT.get()
        when = outlet.ports.clock.now() if run is None else run.command.time  # a task that runs again enqueues under the same id
        result: TaskResult[Any] = TaskResult(
            task=task, id=new_id(task.module_path, when, outlet.drafting.fresh_id()), status=TaskResultStatus.READY, enqueued_at=None,
            started_at=None, finished_at=None, last_attempted_at=None, args=args, kwargs=kwargs, backend=self.alias, errors=[],
            worker_ids=[],
        )  # fmt: skip
        object.__setattr__(result, "enqueued_at", enqueued_at(result.id))
        self.app.send_task(
            self.runner.task_for(task), (task.module_path, result.args, result.kwargs), task_id=result.id, queue=task.queue_name,
            eta=_aware(task.run_after),
        )  # fmt: skip
        task_enqueued.send(type(self), task_result=result)
        return result

    def get_result(self, result_id: str) -> TaskResult[Any]:
        """Return the result with this id as it is now.

        Raises:
            TaskResultDoesNotExist: the id does not name a task that this process knows.
        """
        task = self.runner.by_digest(str(result_id).partition("-")[0])
        if task is None or enqueued_at(result_id) is None:
            raise TaskResultDoesNotExist(result_id)
        found = self.app.result(result_id)
        record = found.record()
        status = TaskResultStatus.READY if record is None else _STATUS.get(record.state, TaskResultStatus.FAILED)
        kept = found.result if status == TaskResultStatus.SUCCESSFUL else {}
        result: TaskResult[Any] = TaskResult(
            task=task, id=result_id, status=status, enqueued_at=enqueued_at(result_id), started_at=_moment(kept.get("started_at")),
            finished_at=_moment(kept.get("finished_at")), last_attempted_at=_moment(kept.get("started_at")), args=kept.get("args", []),
            kwargs=kept.get("kwargs", {}), backend=self.alias, errors=_errors(status, found), worker_ids=_workers(record),
        )  # fmt: skip
        object.__setattr__(result, "_return_value", kept.get("value"))
        return result


def class_path(error: Exception) -> str:
    """Return the import path of the error's class: the traceback has it in full, unless the class is built in."""
    if not isinstance(error, RemoteError):
        return f"{type(error).__module__}.{type(error).__qualname__}"
    named = re.findall(rf"^((?:\w+\.)+{re.escape(error.type_name)})(?::|$)", error.traceback, re.MULTILINE)
    return str(named[-1]) if named else f"builtins.{error.type_name}"


def _errors(status: TaskResultStatus, found: AsyncResult[Any]) -> list[TaskError]:
    if status != TaskResultStatus.FAILED:
        return []
    error = found.result
    error = error.__cause__ if isinstance(error.__cause__, RemoteError) else error
    return [TaskError(exception_class_path=class_path(error), traceback=getattr(error, "traceback", "") or str(error))]


def _workers(record: TaskRecord | None) -> list[str]:
    return [] if record is None or not record.owner else [record.owner] * (record.attempt + 1)


def _aware(moment: datetime | None) -> datetime | None:
    return timezone.make_aware(moment) if moment is not None and timezone.is_naive(moment) else moment


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text is not None else None
