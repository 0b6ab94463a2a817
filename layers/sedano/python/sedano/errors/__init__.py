"""Every error that sedano raises, under one root. A leaf's first sentence is what the user reads.

Errors report the caller's mistakes and faults of the network. The outcome of a task is a value (`sedano.model.ledger.outcome`), and an
exception of a remote task arrives as data (`RemoteError`), never as a class to import.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self


class SedanoError(Exception):
    """The root of all errors of sedano."""

    @property
    def is_final(self) -> bool:
        """Return whether the message itself causes the error, so that no later attempt can succeed, even if the deployment is repaired.

        True for invalid values and types; False for an unavailable service, a denied action or a missing queue.
        """
        return isinstance(self, ValueError | TypeError)

    def as_answer(self) -> Self:
        """Return this error, without the frames of its traceback, as one of the answers to a batch.

        The frames would keep the whole batch in memory until the garbage collector runs.
        """
        if self.__cause__ is not None:
            self.__cause__.__traceback__ = None
        return self.with_traceback(None)


class ConfigurationError(SedanoError):
    """The configuration is incomplete or contradicts itself; the message names the setting."""


class PortMissing(ConfigurationError):
    """This deployment lacks an optional port that something needs; the message names both, and the remedy."""

    def __init__(self, port: str, user: str) -> None:
        """Name the *port* (a field of `sedano.ports.Ports`) and what requires it (*user*)."""
        adapter = f"give Ports({port}=…) an adapter, as sedano.aws, sedano.sqlite and sedano.memory do"
        super().__init__(f"this deployment has no {port}: required by {user}; {adapter}, or remove that use")
        self.port = port


class NotAllowed(ConfigurationError):
    """The credentials do not allow the call; `action` is the missing IAM action, such as ``sqs:SendMessage``."""

    def __init__(self, message: str, action: str) -> None:
        """Report AWS's answer (*message*) and the missing *action*."""
        super().__init__(message)
        self.action = action


class QueueUnfit(ConfigurationError):
    """The queues of this deployment lack a capability; the message names it, what requires it, and the remedy."""

    def __init__(self, lack: str, bound: str, user: str) -> None:
        """Name the missing capability (*lack*), the *bound* of the queues that shows it (`sedano.model.queues.QueueBounds`) and its
        *user*."""
        others = f"connect to a deployment whose Queues port has {bound}, as sedano.aws and sedano.memory do"
        super().__init__(f"the queues of this deployment {lack}: required by {user}; {others}, or remove that use")


class BootFailed(SedanoError):
    """A worker process does not start: its mandatory boot step *step* failed. The steps that had started were stopped."""

    def __init__(self, step: str, error: BaseException | None) -> None:
        """Name the *step* and say why it failed."""
        super().__init__(f"boot step {step}: {type(error).__name__}: {error}; this worker does not start")
        self.step = step
        self.__cause__ = error


class UsageError(ConfigurationError):
    """The command line is invalid; the message names the wrong argument and says what to write instead. The exit code is 2."""


class OptionError(SedanoError, ValueError):
    """An option has an invalid value, or cannot be honoured here; the message names the option and what would work."""


class UnknownOption(OptionError):
    """Raised for an unknown option; lists the valid ones, or names what to write instead of Celery's option."""

    def __init__(self, name: str, known: Sequence[str], of: str = "") -> None:
        """Name the option, the *known* options, and the object that they are options *of*."""
        from sedano.errors.celery_names import instead

        super().__init__(f"{name}: not an option{f' of {of}' if of else ''}; {instead(name, known)}")
        self.name = name


class ArgumentError(SedanoError, TypeError):
    """The arguments do not fit the task's signature; `field` names the argument."""

    def __init__(self, field: str, detail: str) -> None:
        """Say which argument (*field*, such as ``data.args[0]``) is wrong and how (*detail*)."""
        super().__init__(f"{field}: {detail}")
        self.field = field
        self.detail = detail


class Unserialisable(SedanoError, TypeError):
    """A value cannot be written as JSON; the message names its place and its type."""


class TooLarge(SedanoError, ValueError):
    """A value is larger than its limit; the message names the value, its size and the limit, in bytes."""


class NotAccepted(SedanoError, ValueError):
    """A service refused a message or an item because of its contents; sending it again does not help. The error quotes the service."""


class CanvasError(SedanoError, TypeError):
    """The parts of a canvas do not fit together; the message says how to write it."""


class UnknownTask(SedanoError, LookupError):
    """No task of this name is registered in this app."""


class UnknownSchedule(SedanoError, LookupError):
    """This deployment has no periodic task of this name."""


class UnknownQueue(SedanoError, LookupError):
    """This deployment has no queue of this name."""


class Unavailable(SedanoError):
    """An AWS service did not accept or answer the call within the retries; trying again later is safe."""


class SourceBusy(Unavailable):
    """Raised by the source of a poll to ask for no request in the next *seconds*, such as by HTTP 429 with `Retry-After`."""

    def __init__(self, seconds: float, detail: str = "the source is busy") -> None:
        """Name the *seconds*, at most a day, and the reason."""
        super().__init__(f"{detail}; it asks to wait {seconds:g} s")
        self.seconds = seconds


class NotCalled(Unavailable):
    """The call was not made, because the service did not answer recent calls; the message says when the next call will be tried."""


class Throttled(Unavailable):
    """A service answered that it gets too many calls now; trying again later is safe."""


class PublishError(Unavailable):
    """A message was neither accepted by its queue nor stored; publish it again.

    If only the answer was lost, the queue may have accepted the message. Give the call a `task_id` of your own; then a second publication
    has no second effect.
    """


class BacklogFull(PublishError):
    """The queue cannot be reached and the store of unsent messages is full; nothing was accepted."""


class SpoolError(SedanoError):
    """The spool on this machine's disk cannot be used; the message names the directory and the remedy."""


class FolderExists(SedanoError):
    """The folder of a new project exists already, and was not changed. Choose another name, or remove it first."""


class MessageRefused(SedanoError, ValueError):
    """This deployment does not accept the message; `code` is from the closed list `sedano.model.refusals`."""

    def __init__(self, code: str, field: str, detail: str) -> None:
        """Refuse with a *code* of the closed list, the *field* (a path such as ``data.args[0]``) and its fault."""
        super().__init__(f"{code}: {field}: {detail}")
        self.code = code
        self.field = field
        self.detail = detail


class HopLimit(SedanoError):
    """A task tried to publish at a depth beyond the limit of dynamic spawns (128)."""


class BudgetExhausted(SedanoError):
    """A task tried to cause more descendants than its message's budget allows."""


class SpendingExceeded(SedanoError):
    """A canvas is estimated to cost more than its `within(…)` allows; nothing was published."""


class DuplicateTask(SedanoError):
    """A task with this deduplication key was already published (`on_duplicate="raise"`), or a canvas under this id."""

    def __init__(self, task_id: str) -> None:
        """Name the task that holds the key."""
        super().__init__(f"a task or canvas with this key or id was already published: {task_id}")
        self.task_id = task_id


class KeyReused(DuplicateTask):
    """This deduplication key was used before with other arguments, so this call has not run, and the result of the first call is not its
    result. Give each distinct call its own key, such as the order's id plus a digest of its content.
    """

    def __init__(self, task_id: str) -> None:
        """Name the task that holds the key."""
        super().__init__(task_id)
        known = f"this dedup_key was used before with other arguments, for the task {task_id}, so this call has not run"
        self.args = (f"{known}; give each distinct call its own key, and see app.control.explain({task_id!r}) for the first call",)


class Ignore(SedanoError):
    """Raised by a task to end without another attempt.

    This does not count as a failure: the task ends as REVOKED, the metric is `TasksIgnored`, and a caller that waits for its result gets a
    `RemoteError` of this type.
    """


class Reject(SedanoError):
    """Raised by a task to refuse its message: the task ends as a failure of this type, without another attempt, and its message is parked
    with the reason ``rejected`` (Celery's `Reject`, which sends the message to the dead letters).
    """

    def __init__(self, reason: object = "", requeue: bool = False) -> None:
        """Give the reason; *requeue* is Celery's option and cannot be honoured.

        Raises:
            OptionError: *requeue* is set: a message that is requeued without a count could be delivered forever.
        """
        if requeue:
            raise OptionError("requeue: not supported; to run the task again, raise another error under a retry policy (`with retry(…):`)")
        super().__init__(str(reason))


class NoResult(SedanoError):
    """The task keeps no result, so there is nothing to wait for."""


class ResultTimeout(SedanoError, TimeoutError):
    """The task did not end within the caller's timeout."""


class RemoteError(SedanoError):
    """A task failed; the error holds the type's name, the message and the traceback's text as data."""

    def __init__(self, type_name: str, message: str, traceback: str = "", task_id: str = "") -> None:
        """Carry the remote exception's *type_name*, *message* and *traceback* text, and the id of the task that raised it."""
        super().__init__(f"{type_name}: {message}")
        self.task_id = task_id
        self.type_name = type_name
        self.message = message
        self.traceback = traceback


class BoxFailure(SedanoError):
    """A call of a boxed task failed in its worker: its program is missing, ended, was too slow, or wrote an invalid reply."""


class BoxMissing(BoxFailure):
    """The program of a box could not be started; the message names it, the reason and the remedy."""


class BoxCrashed(BoxFailure):
    """The program of a box ended before it replied; the message has its exit status or its signal."""


class BoxTimeout(BoxFailure, TimeoutError):
    """The program of a box did not reply within `timeout` and was killed with its process group."""


class BoxReplyInvalid(BoxFailure, ValueError):
    """A reply of the program of a box is too long, malformed, or answers another call; the program was killed."""


class BoxedError(RemoteError):
    """The program of a box replied with an error. The task's record has its type, message and traceback, not this class."""

    def __init__(self, type_name: str, message: str, traceback: str = "", *, retry: bool = True) -> None:
        """Carry the program's error; *retry*: whether another attempt may help."""
        super().__init__(type_name, message, traceback)
        self.retry = retry


class LeaseTaken(SedanoError, TimeoutError):
    """Another process held the lease until the caller's timeout."""

    def __init__(self, name: str, owner: str) -> None:
        """Name the lease and its holder."""
        super().__init__(f"lease {name!r} is held by {owner}")
        self.name = name
        self.owner = owner


class LeaseLost(SedanoError):
    """The lease is no longer held: it expired, the process was frozen, or the invocation that took it has ended."""


class FencedOff(SedanoError):
    """A later holder has already written: this writer's term has ended, and nothing was changed."""

    def __init__(self, resource: str, token: int) -> None:
        """Name the *resource* and the *token* that is out of date."""
        super().__init__(f"{resource}: the token {token} is no longer the latest; nothing was written")
        self.resource = resource
        self.token = token


class EffectRefused(SedanoError):
    """The condition of an effect does not hold, so it could not be written with the task's record. None of the effects was written, and the
    attempt has failed; the task's retry policy decides whether the body runs again.
    """

    def __init__(self, place: int, table: str, key: str, why: str) -> None:
        """Name the *place* of the effect (from 0), its *table*, the *key* as JSON text, and *why*."""
        super().__init__(f"effect {place}, {table} {key}: {why}; no effect of this run was made")
        self.place, self.table, self.key, self.why = place, table, key, why


class TaskRevoked(SedanoError):
    """The task, or a task that it waited for, was revoked before it ran. `TaskExpired` is a subclass."""


class TaskExpired(TaskRevoked):
    """The task, or a task that it waited for, did not start before its `expires`."""


class SoftTimeLimitExceeded(SedanoError):
    """Raised once inside a task that exceeds its soft time limit, so that it can clean up and end."""

    def __init__(self, detail: str = "the task ran longer than its soft time limit") -> None:
        """Say so."""
        super().__init__(detail)


class WaitInsideTask(SedanoError, RuntimeError):
    """A task tried to wait for another task's result, which can deadlock the workers; use a chord or a callback instead."""


class WaitInsideLoop(SedanoError, RuntimeError):
    """The call would block the running event loop; write `await result` or `async with lock`."""


class WorkflowInvalid(SedanoError, ValueError):
    """A workflow cannot run; the message lists every reason, each with its file, line and step."""

    def __init__(self, name: str, problems: list[str]) -> None:
        """List the *problems* of the workflow *name*."""
        more = "\n  ".join(problems)
        super().__init__(f"workflow {name} cannot run, for {len(problems)} reason{'s' if len(problems) != 1 else ''}:\n  {more}")
        self.problems = tuple(problems)


class RerunRefused(SedanoError):
    """A task cannot be run again: it has not ended, it succeeded, it was run again before, or its arguments were not kept."""

    def __init__(self, task_id: str, why: str, *, missing: bool = False) -> None:
        """Name the task and the reason; *missing*: no store knows the task."""
        super().__init__(f"{task_id}: {why}")
        self.task_id, self.missing = task_id, missing


class FlowRunReused(SedanoError):
    """A flow run with this id was already started, with other inputs or another definition."""


class UnknownFlowRun(SedanoError, LookupError):
    """No flow run has this id, or no worker has begun it yet."""


class WrongFlowState(SedanoError):
    """The state of the flow run does not allow the operation; the message names the state."""


class FlowFailed(SedanoError):
    """A flow run failed or was cancelled; the message names the step that caused it."""

    def __init__(self, run_id: str, detail: str) -> None:
        """Name the run and say why."""
        super().__init__(detail)
        self.run_id = run_id
