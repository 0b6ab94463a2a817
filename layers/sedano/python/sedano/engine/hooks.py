"""Hooks: functions of the user that are called beside each task, such as those of an error tracker.

    on_publish        before a program or a body sends a task
    before_run        before the body, on its thread and in its context
    after_run         after the body, in the same place, with the exception that it raised
    on_retry          after it is recorded that the task is tried again
    on_failure        after it is recorded that the task has failed for good
    on_revoke         after a worker has recorded that the task is revoked, has expired, or raised `Ignore`
    on_worker_start   once in each worker process, after its boot steps

They are Celery's signals, as plain functions. An exception from a hook is logged and counted, and changes nothing for the task. The
library's own tasks have no hooks.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

from sedano.engine.batch import Judged, Ran
from sedano.engine.drafts import CommandDraft, Draft
from sedano.engine.task_context import CURRENT, Replaced, TaskContext, requested
from sedano.engine.task_log import TELEMETRY
from sedano.errors import SoftTimeLimitExceeded, TaskRevoked
from sedano.model import states
from sedano.model.ledger.records import ErrorRecord, Outcome
from sedano.model.messages.message import Command
from sedano.model.tasks.task_spec import TaskSpec
from sedano.ports import Telemetry

ON_PUBLISH: Final = "on_publish"
BEFORE_RUN: Final = "before_run"
AFTER_RUN: Final = "after_run"
ON_RETRY: Final = "on_retry"
ON_FAILURE: Final = "on_failure"
ON_REVOKE: Final = "on_revoke"
ON_WORKER_START: Final = "on_worker_start"
NAMES = (ON_PUBLISH, BEFORE_RUN, AFTER_RUN, ON_RETRY, ON_FAILURE, ON_REVOKE, ON_WORKER_START)
_OF_EVENT = {"retried": ON_RETRY, "failed": ON_FAILURE, "revoked": ON_REVOKE}
"""The hooks of runs that ended without success, by the events of their states."""
_OF_BODIES = frozenset({ON_PUBLISH, BEFORE_RUN, AFTER_RUN})
"""The hooks that a body's thread calls: only there does an exception end a body from outside."""
OWN = "sedano."
"""The prefix of the names of the library's own tasks."""


class Publication(NamedTuple):
    """A task that is about to be sent: its name, its id, its queue, its arguments, seconds of delay, and the tenant that it is for."""

    task: str
    task_id: str
    queue: str
    args: Sequence[Any]
    kwargs: Any
    delay: int
    tenant: str | None


class EndedRun(NamedTuple):
    """A run that ended without success, as it is recorded.

    *attempt* counts from 0. *state* is RETRY, FAILURE, POISON, REVOKED or EXPIRED. *error_type*, *message* and *traceback* are texts;
    *exception* is the object that the body raised, None where the body did not run here or was ended from outside. *retry_in*: seconds
    until the next attempt.
    """

    task: str
    task_id: str
    root_id: str
    attempt: int
    tenant: str | None
    state: str
    error_type: str
    message: str
    traceback: str
    exception: BaseException | None
    retry_in: float | None


Functions = Mapping[str, Sequence[Callable[..., Any]]]
"""The hooks of an app by their name, as its registry has them."""


def start(hooks: Functions, telemetry: Telemetry) -> None:
    """Call the hooks of a worker process that has started."""
    _call(hooks, ON_WORKER_START, telemetry)


def publish(hooks: Functions, drafts: Sequence[Draft], telemetry: Telemetry) -> None:
    """Call the hooks of *drafts*, which are about to be sent."""
    for draft in drafts if hooks.get(ON_PUBLISH) else ():
        if isinstance(draft, CommandDraft) and not draft.command.task.startswith(OWN):
            asked = draft.command
            message = Publication(
                task=asked.task, task_id=asked.task_id, queue=draft.queue, args=asked.args, kwargs=asked.kwargs, delay=draft.delay,
                tenant=asked.tenant,
            )  # fmt: skip
            _call(hooks, ON_PUBLISH, telemetry, message)


class RunHooks:
    """The hooks of the runs of one worker."""

    def __init__(self, hooks: Functions) -> None:
        """Call *hooks*."""
        self._hooks = hooks
        self._raised: dict[tuple[str, int], Exception] = {}

    @property
    def are_of_revocations(self) -> bool:
        """Whether one of them is called for revocations."""
        return bool(self._hooks.get(ON_REVOKE))

    def around(self, task: TaskSpec) -> Callable[..., Any]:
        """Return the body of *task* with its hooks around it."""
        if task.name.startswith(OWN):
            return task.function
        return self._coroutine(task.function) if task.is_async else self._function(task.function)

    def end(self, ran: Ran, judged: Judged | None, telemetry: Telemetry) -> None:
        """Call the hooks of a run that ended without success, after its outcome was recorded; *judged*: None where it was not."""
        command = ran.held.job.command
        raised = self._raised.pop((command.task_id, command.attempt), None)
        if judged is None or ran.run.replaced or command.task.startswith(OWN):
            return  # what replaces a body answers in its next attempt
        state, error = judged.verdict.state, ran.run.error
        name = _OF_EVENT.get(states.ROWS[state].event)
        if name is not None:
            kind, message, text = (error.type_name, error.message, error.traceback) if error is not None else ("", "", "")
            root_id, pause = command.lineage.root_id or command.task_id, judged.verdict.pause if name == ON_RETRY else None
            ended = EndedRun(
                task=command.task, task_id=command.task_id, root_id=root_id, attempt=command.attempt, tenant=command.tenant,
                state=str(state), error_type=kind, message=message, traceback=text, exception=raised, retry_in=pause,
            )  # fmt: skip
            _call(self._hooks, name, telemetry, ended)

    def revoked(self, ended: Outcome, command: Command, telemetry: Telemetry) -> None:
        """Call `on_revoke` for a task that a worker has recorded as ended without a run, by its message or by that of a task before it."""
        if not ended.name.startswith(OWN) and _OF_EVENT.get(states.ROWS[ended.state].event) == ON_REVOKE:
            error = ended.error or ErrorRecord("", "")
            run = EndedRun(
                task=ended.name, task_id=ended.task_id, root_id=command.lineage.root_id or command.task_id, attempt=ended.attempt,
                tenant=command.tenant, state=str(ended.state), error_type=error.type_name, message=error.message, traceback="",
                exception=None, retry_in=None,
            )  # fmt: skip
            _call(self._hooks, ON_REVOKE, telemetry, run)

    def _function(self, body: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> Any:
            context = self._before()
            try:
                value = body(*args, **kwargs)
            except BaseException as error:
                self._after(context, _without_own_frame(error))
                raise
            self._after(context, None)
            return value

        return run

    def _coroutine(self, body: Callable[..., Any]) -> Callable[..., Any]:
        async def run(*args: Any, **kwargs: Any) -> Any:
            context = self._before()
            try:
                value = await body(*args, **kwargs)
            except BaseException as error:
                self._after(context, _without_own_frame(error))
                raise
            self._after(context, None)
            return value

        return run

    def _before(self) -> TaskContext | None:
        context = CURRENT.get()
        _call(self._hooks, BEFORE_RUN, TELEMETRY.get(), context)
        return context

    def _after(self, context: TaskContext | None, error: BaseException | None) -> None:
        error = None if isinstance(error, Replaced) else error
        asked = requested(error)
        error = error if asked is None else asked.error or asked
        if context is not None and isinstance(error, Exception) and any(map(self._hooks.get, _OF_EVENT.values())):
            self._raised[context.id, context.attempt] = error
        _call(self._hooks, AFTER_RUN, TELEMETRY.get(), context, error)


def _call(hooks: Functions, name: str, telemetry: Telemetry | None, *given: Any) -> None:
    """Call all hooks of *name*. Exceptions that end a body from outside pass; any other one is logged."""
    for function in hooks.get(name, ()):
        try:
            function(*given)
        except Exception as error:  # a hook may raise anything, which must not change what becomes of the task
            if name in _OF_BODIES and isinstance(error, SoftTimeLimitExceeded | TaskRevoked):
                raise
            _report(name, function, error, telemetry)


def _without_own_frame(error: BaseException) -> BaseException:
    """Return *error* with a traceback that begins in the body: `raise` without a name does not add the frame of its caller again."""
    frames = error.__traceback__
    return error.with_traceback(frames.tb_next) if frames is not None else error


def _report(name: str, function: Callable[..., Any], error: Exception, telemetry: Telemetry | None) -> None:
    if telemetry is None:
        return
    with suppress(Exception):  # telemetry that does not work must not cost a task
        where, text = getattr(function, "__qualname__", repr(function)), "".join(traceback.format_exception(error))
        telemetry.count("HooksFailed", hook=name)
        words = "a hook raised an exception, which changes nothing for its task"
        telemetry.log("error", words, hook=name, function=where, error=f"{type(error).__name__}: {error}", traceback=text)
