"""The result of a body: its return value or exception becomes a value (`Run`), and is encoded."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from sedano.engine.batch import Arguments, Held, Job, Ran
from sedano.engine.canvas.map_tasks import keeps_arguments
from sedano.engine.task_context import CURRENT, Replaced, TaskContext, requested
from sedano.engine.task_log import TELEMETRY
from sedano.engine.unexpected_errors import unexpected
from sedano.errors import (
    BoxedError,
    BudgetExhausted,
    EffectRefused,
    HopLimit,
    Ignore,
    Reject,
    SedanoError,
    TaskRevoked,
    TooLarge,
    UnknownQueue,
    WaitInsideLoop,
    WaitInsideTask,
)  # fmt: skip
from sedano.model.ledger.outcome import Run
from sedano.model.ledger.records import ErrorRecord
from sedano.model.messages import codec
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.lineage import result_document_id
from sedano.model.messages.message import Document, JoinMember
from sedano.model.retry import mark_of
from sedano.ports import Ports, Telemetry

TRACEBACK_CHARACTERS = 4_000
MESSAGE_CHARACTERS = 2_000
NO_CLASSES: Mapping[str, type[Exception]] = {}


class Endings(NamedTuple):
    """Makes the record of a run that ended, with the time and the clock of this worker."""

    ports: Ports
    lamport: LamportClock
    raises: Mapping[str, type[Exception]] = NO_CLASSES

    def ended(self, held: Held, run: Run, context: TaskContext | None, started: float | None = None) -> Ran:
        """Return *run* with its result encoded; a result that cannot be written as JSON is a failure of the task."""
        now = self.ports.clock.now()
        result = None
        if run.error is None and held.stillborn is None and not run.revoked and not run.replaced:
            try:
                result = "null" if run.value is None else _encoded(run.value)
            except Exception as wrong:  # noqa: BLE001 - a value of the user's, whose methods may raise anything
                run = Run(error=ErrorRecord(type(wrong).__name__, str(wrong)), poisonous=True)
        elif run.thrown is not None:
            run = self._without_thrown(run, run.thrown, held.job)
        began = started if started is not None else now
        if context is None:
            return Ran(held=held, run=run, result=result, drafts=(), started=began, started_clock=self.lamport.forward(), ended=now)
        context.over = True
        if result is not None and held.job.task.is_document:
            context.outbox.append(_document(context, run.value))
        effects = context.collected if result is not None else ()
        if not context.added or run.error is not None or run.replaced:
            return Ran(
                held=held, run=run, result=result, drafts=tuple(context.outbox), started=began, started_clock=context.clock, ended=now,
                effects=effects,
            )  # fmt: skip
        added = context.added
        places = [(draft, draft.command.member) for draft in added]
        more = [draft.asking(member=JoinMember(at.join_id, at.index, len(added))) for draft, at in places if at is not None]
        return Ran(
            held=held, run=run, result=result, drafts=(*context.outbox, *more), started=began, started_clock=context.clock, ended=now,
            added=len(added), effects=effects,
        )  # fmt: skip

    def _without_thrown(self, run: Run, thrown: BaseException, job: Job) -> Run:
        """Return *run* without the exception *thrown*; its error has the class if the app names it and *job* keeps arguments."""
        error = run.error
        if error is not None and self.raises and self._keeps(job):
            from sedano.model.ledger.raised_errors import recorded

            error = recorded(error, thrown, self.raises)
        return run._replace(error=error, thrown=None)

    def _keeps(self, job: Job) -> bool:
        try:
            return keeps_arguments(job, self.ports)
        except SedanoError:  # which task it maps is not known, and may keep none
            return False

    def surprised(self, held: Held, error: Exception) -> Ran:
        """Return the run of *held* as a failed attempt, because the library's code around its body raised *error*."""
        answer = unexpected(self.ports.telemetry, error)
        return self.ended(held, Run(error=ErrorRecord(type(error).__name__, str(answer))), None)


def _document(context: TaskContext, value: Any) -> Document:
    """Return the result *value* of the running task as a document, under an id that every run of the task derives."""
    return Document(
        id=result_document_id(context.id), task_id=context.id, task=context.task, value=value, tenant=context.tenant,
        traceparent=context.traceparent, stamps=context.command.stamps, tracestate=context.tracestate,
    )  # fmt: skip


def _encoded(value: Any) -> str:
    text = codec.encode_value(value, "result")
    if len(text) > codec.MAX_DATA_BYTES:
        raise TooLarge(f"result: {len(text)} bytes; a result may have at most {codec.MAX_DATA_BYTES}")
    return text


def called(function: Callable[..., Any], arguments: Arguments, context: TaskContext, telemetry: Telemetry) -> Run:
    """Call the body *function* with *arguments* and return its run; an exception becomes the run's error."""
    CURRENT.set(context)
    TELEMETRY.set(telemetry)
    try:
        return Run(function(*arguments[0], **arguments[1]))
    except Exception as error:  # noqa: BLE001 - a body may raise anything; its answer is a value
        return failed(error)


def failed(error: BaseException) -> Run:
    """Return the run of a body that raised *error*; it is not retried if a limit of its tree of tasks forbids it or no attempt can
    succeed."""
    if isinstance(error, TaskRevoked):
        return Run(revoked=True)
    if isinstance(error, Replaced):
        return _replaced(error)
    if isinstance(error, BoxedError):
        found = ErrorRecord(error.type_name, error.message[:MESSAGE_CHARACTERS], error.traceback[-TRACEBACK_CHARACTERS:])
        return Run(error=found, poisonous=not error.retry)
    mark, frames, again, asked = mark_of(error), error.__traceback__, None, requested(error)
    own = frames.tb_next if frames is not None and frames.tb_next is not None else frames
    never = HopLimit | BudgetExhausted | Ignore | Reject | UnknownQueue | WaitInsideTask | WaitInsideLoop
    hopeless = mark.poisonous or isinstance(error, never)
    if asked is not None:
        again, inner = asked.wishes, asked.error or asked
        own = own if inner is error else inner.__traceback__  # that of a handled error begins in the body
        error = inner
    text = "".join(traceback.format_exception(type(error), error, own))[-TRACEBACK_CHARACTERS:]
    record = ErrorRecord(type(error).__name__, _message(error)[:MESSAGE_CHARACTERS], text)
    ignored = isinstance(error, Ignore)
    return Run(error=record, poisonous=hopeless, section=mark.section, policy=mark.policy, ignored=ignored, thrown=error, again=again)


def ending(several: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first exception in *several* that is not an `Exception`: a `SystemExit` within a nursery ends the call of the worker as
    one outside does."""
    for one in several.exceptions:
        if isinstance(one, BaseExceptionGroup) and not isinstance(one, Exception):
            return ending(one)
        if not isinstance(one, Exception):
            return one
    return several


def _replaced(by: Replaced) -> Run:
    """Return the run of a replaced body; its replacement is published with its own publications."""
    context = CURRENT.get()
    if context is not None:
        context.outbox.append(by.draft)
    return Run(replaced=True)


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - a user's __str__ may raise as well; the type's name still tells
        return "(the exception cannot be shown as text)"


def refused(ran: Ran, error: EffectRefused) -> Ran:
    """Return *ran* as failed by the refused effect *error*: without effects, without added members, and without its document."""
    own = result_document_id(ran.held.job.command.task_id)
    kept = ran.drafts[: len(ran.drafts) - ran.added]
    drafts = tuple(draft for draft in kept if not (isinstance(draft, Document) and draft.id == own))
    return ran._replace(run=failed(error), result=None, drafts=drafts, added=0, effects=())
