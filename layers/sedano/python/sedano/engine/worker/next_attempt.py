"""The message of the next attempt of a task, and the wishes of its body for it (`current().retry`).

A body may ask for other arguments. The message with them is recorded with the verdict RETRY, in the outbox of the record, as the message of
a replaced body is: the record is the only source of the next attempt. So the rule of the claim needs no change. A message of the failed
attempt that is delivered again finds the record of a later attempt; if it is responsible for the follow-ups, it sends the recorded message
(RETRY AGAIN), and any other is acknowledged. The old arguments never run again after the new ones were recorded; before, the attempt has no
verdict and may run again, with the old ones.
"""

from __future__ import annotations

from sedano.engine.batch import Job
from sedano.engine.drafts import Addressed, CommandDraft, Composer
from sedano.engine.task_context import RetryRequested
from sedano.errors import OptionError
from sedano.model.ledger import dedup_keys as keyed
from sedano.model.ledger.claims import begun_by
from sedano.model.ledger.outcome import NextAttempt, Run
from sedano.model.ledger.records import ErrorRecord
from sedano.model.messages import codec
from sedano.model.messages.lineage import derived_id, tried_id
from sedano.model.messages.message import Command, Section
from sedano.model.queues import queue_of
from sedano.model.retry import Retry
from sedano.ports import Blobs

NO_RETRY = (
    "the body asked for another attempt, and the policy allows no retry: write retry=Retry(max_retries=…) at the task, or "
    "`with retry(max_retries=…):` around current().retry(…)"
)


def with_wishes(job: Job, wishes: NextAttempt, blobs: Blobs) -> Command:
    """Return the command of *job* with the arguments that its body wishes.

    Raises:
        OptionError: the queue keeps order and delivers the same message again, or one run takes many calls.
        ArgumentError: the task does not take these arguments.
    """
    command = job.command
    if job.delivery.serial_key is not None:
        raise OptionError("retry: a queue that keeps order delivers the same message again; raise the error, or publish another task")
    if job.task.limits is not None and job.task.limits.runs:
        raise OptionError("retry: one run takes many calls of this task (batch=), which keep their arguments; raise the error instead")
    args, kwargs = command.args, command.kwargs
    if command.data_ref is not None and (wishes.args is None or wishes.kwargs is None):
        args, kwargs = codec.decode_data(blobs.get(command.data_ref))
    args = args if wishes.args is None else wishes.args
    kwargs = kwargs if wishes.kwargs is None else wishes.kwargs
    gather = command.gather
    if gather is not None and wishes.args is not None:
        gather = gather._replace(hand_on=False)
    if gather is None or not gather.hand_on:
        job.task.parameters.fit(args, kwargs)
    return command._replace(args=tuple(args), kwargs=dict(kwargs), data_ref=None, gather=gather)


def unusable(run: Run, wrong: Exception) -> Run:
    """Return the end of *run* if no attempt can have the arguments that its body wishes, because of *wrong*; its own error is a note."""
    note, frames = "", ""
    if run.error is not None:
        frames = run.error.traceback
        note = "" if run.error.type_name == RetryRequested.__name__ else f"its body handled {run.error.type_name}: {run.error.message}"
    return Run(error=ErrorRecord(type(wrong).__name__, str(wrong), frames, notes=note), poisonous=True)


def without_retry(run: Run, policy: Retry) -> Run:
    """Return *run*, whose body asked for an attempt that it does not get, with words about it if *policy* or its section allows none."""
    if run.error is None or run.poisonous or (run.policy or policy).most_retries:
        return run
    if run.error.type_name == RetryRequested.__name__:
        return run._replace(error=run.error._replace(message=NO_RETRY))
    return run._replace(error=run.error._replace(notes=NO_RETRY))


def attempt_message(
    composer: Composer, job: Job, attempt: int, wait: float, section: Section | None, command: Command | None = None
) -> Addressed:
    """Return the message of the next attempt of *job*, with the arguments of *command* if it is given.

    Without a claim there may be several runs of one attempt, and each publishes the next. So all of them use one message id, by which the
    receiver's window recognises the copies; otherwise every lost answer of the queue would multiply the retries. The first task of a canvas
    is tried again under an id that names the canvas (`sedano.model.ledger.claims.is_another`).
    """
    received = job.command
    begun = begun_by(received)
    again = tried_id(begun, attempt) if begun else keyed.retried(received.id, attempt) if keyed.binds_retries(received) else ""
    asked = (command or received)._replace(attempt=attempt, section=section)
    draft = CommandDraft(queue_of(job.delivery.queue), asked, delay=-int(-wait // 1))
    claimed = job.task.mode(received) == "claimed"
    return composer.compose(draft, received.lineage, again if claimed else derived_id(received.task_id, f"attempt/{attempt}"))
