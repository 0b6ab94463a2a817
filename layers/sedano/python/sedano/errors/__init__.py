"""Every error that sedano raises, under one root. A leaf's first sentence is what the user reads.

Errors are for the caller's mistakes and for the network. How a task ended is a value (`sedano.model.ledger.outcome`), and an exception of a
remote task arrives as data (`RemoteError`), never as a class to import.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self


class SedanoError(Exception):
    """The root of all errors of sedano."""

    @property
    def is_final(self) -> bool:
        """Return whether the message itself is the reason: no later attempt and no repaired deployment can succeed with it.

        Errors of values and types do; a service that is away, a denied action and a missing queue do not.
        """
        return isinstance(self, ValueError | TypeError)

    def as_answer(self) -> Self:
        """Return this error as one answer among others: without its traceback's frames.

        They would keep a whole batch alive, and each other, until the garbage collector runs.
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
    """The credentials may not do this; `action` is the IAM action that they lack, such as ``sqs:SendMessage``."""

    def __init__(self, message: str, action: str) -> None:
        """Say what AWS answered (*message*) and which *action* is missing."""
        super().__init__(message)
        self.action = action


class QueueUnfit(ConfigurationError):
    """The queues of this deployment cannot do something that is needed; the message names it, its user, and the remedy."""

    def __init__(self, lack: str, bound: str, user: str) -> None:
        """Name the *lack*, the *bound* of the queues that says so (`sedano.model.queues.QueueBounds`) and its *user*."""
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
    """The command line is wrong; the message names the word that is, and says what to write instead. The command exits with 2."""


class OptionError(SedanoError, ValueError):
    """An option that was given cannot be honoured; the message names the option and what would work."""


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
    """A service refuses a message or an item for what is in it; sending it again changes nothing. The message has the service's words."""


class CanvasError(SedanoError, TypeError):
    """A canvas cannot be what it was put together from; the message says how to write it."""


class UnknownTask(SedanoError, LookupError):
    """No task of this name is registered in this app."""


class UnknownSchedule(SedanoError, LookupError):
    """This deployment has no periodic task of this name."""


class UnknownQueue(SedanoError, LookupError):
    """No queue of this name is known to this deployment."""


class Unavailable(SedanoError):
    """An AWS service did not take or answer the call within the bounded retries; trying later is safe."""


class NotCalled(Unavailable):
    """The service did not answer a moment ago, so this call was not made; the message says when the next one will be."""


class PublishError(Unavailable):
    """A message was neither accepted by its queue nor stored; publish it again.

    An attempt whose answer was lost may have been accepted all the same: give the call a `task_id` of your own, and the second publication
    of it has no second effect.
    """


class BacklogFull(PublishError):
    """The queue is away and as many messages as may are stored already: nothing was accepted."""


class SpoolError(SedanoError):
    """The spool on this machine's disk cannot be used; the message names the directory and the remedy."""


class FolderExists(SedanoError):
    """The folder of a new project exists already, and was not changed. Choose another name, or remove it first."""


class MessageRefused(SedanoError, ValueError):
    """A message is not one that this deployment accepts; `code` is from the closed list `sedano.model.refusals`."""

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


class DuplicateTask(SedanoError):
    """A task with this deduplication key was already published (`on_duplicate="raise"`), or a canvas under this id."""

    def __init__(self, task_id: str) -> None:
        """Name the task that holds the key."""
        super().__init__(f"a task or canvas of this key or id is already known: {task_id}")
        self.task_id = task_id


class KeyReused(DuplicateTask):
    """Other arguments were published under this deduplication key before, so these have not run, and what the first call returned is not
    their result. Give each distinct call a key of its own, such as the order's id and a digest of its content.
    """

    def __init__(self, task_id: str) -> None:
        """Name the task that holds the key."""
        super().__init__(task_id)
        known = f"other arguments were published under this dedup_key before, as the task {task_id}, and these have not run"
        self.args = (f"{known}; give them a key of their own, and see app.control.explain({task_id!r}) for the first call",)


class Ignore(SedanoError):
    """A task raises it to end here, without another try.

    This does not count as a failure: the task ends as REVOKED, the metric is `TasksIgnored`, and a caller that waits for its result gets a
    `RemoteError` of this type.
    """


class Reject(SedanoError):
    """A task raises it to refuse its message for good: it ends as a failure of this type, is not tried again, and its message is set
    aside in the parked queue with the reason ``rejected`` (Celery's `Reject`, whose message goes to the dead letters).
    """

    def __init__(self, reason: object = "", requeue: bool = False) -> None:
        """Say why; *requeue* is Celery's, and cannot be honoured.

        Raises:
            OptionError: *requeue* is set: a message that was given back uncounted could be delivered forever.
        """
        if requeue:
            raise OptionError("requeue: a task that shall be tried again raises what it likes under a retry policy (`with retry(…):`)")
        super().__init__(str(reason))


class NoResult(SedanoError):
    """The task keeps no result, so there is nothing to wait for."""


class ResultTimeout(SedanoError, TimeoutError):
    """The task did not finish within the time that the caller was ready to wait."""


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
    """Another process held the lease for as long as the caller was ready to wait."""

    def __init__(self, name: str, owner: str) -> None:
        """Name the lease and its holder."""
        super().__init__(f"lease {name!r} is held by {owner}")
        self.name = name
        self.owner = owner


class LeaseLost(SedanoError):
    """The lease is not held any more: its time was over, the process was frozen, or the invocation that it belonged to has ended."""


class FencedOff(SedanoError):
    """A later holder has written already: this writer's term is over, and nothing was changed."""

    def __init__(self, resource: str, token: int) -> None:
        """Name the *resource* and the *token* that is out of date."""
        super().__init__(f"{resource}: the token {token} is not the latest any more; nothing was written")
        self.resource = resource
        self.token = token


class EffectRefused(SedanoError):
    """An effect of a task could not be made with its record: its condition does not hold. None of the effects was made, and the attempt
    has failed; its retry policy decides whether the body runs again.
    """

    def __init__(self, place: int, table: str, key: str, why: str) -> None:
        """Name the *place* of the effect (from 0), its *table*, the *key* as JSON text, and *why*."""
        super().__init__(f"effect {place}, {table} {key}: {why}; no effect of this run was made")
        self.place, self.table, self.key, self.why = place, table, key, why


class TaskRevoked(SedanoError):
    """The task was revoked before it ran, or what it needed was; `TaskExpired` is one of these."""


class TaskExpired(TaskRevoked):
    """The task, or what it needed, did not run before its `expires` passed."""


class SoftTimeLimitExceeded(SedanoError):
    """The running task is over its soft time limit: clean up and end. Raised inside it, once."""

    def __init__(self, detail: str = "the task ran longer than its soft time limit") -> None:
        """Say so."""
        super().__init__(detail)


class WaitInsideTask(SedanoError, RuntimeError):
    """A task waited for another task's result; use a chord or a follow-up instead, waiting would deadlock the workers."""


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
    """A flow run of this id has begun with other inputs, or of another definition."""


class UnknownFlowRun(SedanoError, LookupError):
    """No flow run has this id, or no worker has begun it yet."""


class WrongFlowState(SedanoError):
    """A flow run is not in a state in which it can do what was asked; the message names it."""


class FlowFailed(SedanoError):
    """A flow run failed or was cancelled; the message names the step that began it."""

    def __init__(self, run_id: str, detail: str) -> None:
        """Name the run and say why."""
        super().__init__(detail)
        self.run_id = run_id
