"""Running a body: get its arguments, call it, and turn whatever happens into a value.

`async def` bodies share one event loop (`sedano.engine.worker.event_loop`, bound late: programs without async tasks do not pay for it);
`def` bodies run on the threads of the concurrency budget, inline when that is one.
"""

from __future__ import annotations

import contextvars
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from sedano.engine.batch import Arguments, Batch, Held, Job, Later, Ran, Stillborn
from sedano.engine.canvas.chord_results import HeaderFailed
from sedano.engine.canvas.steps import Conducting
from sedano.engine.containment import contain, unexpected
from sedano.engine.context import CURRENT, Replaced, TaskContext
from sedano.engine.history.run_events import count_at_once
from sedano.engine.hold_back import put_back
from sedano.engine.revocation.record import Checkpoint
from sedano.engine.sections import mark_of
from sedano.engine.task_log import TELEMETRY
from sedano.engine.worker.admission import Admission
from sedano.engine.worker.second_look import LOOK_S, SecondLook
from sedano.errors import (
    ArgumentError,
    BudgetExhausted,
    HopLimit,
    Ignore,
    MessageRefused,
    Reject,
    SedanoError,
    TaskRevoked,
    TooLarge,
    UnknownQueue,
    WaitInsideLoop,
    WaitInsideTask,
)  # fmt: skip
from sedano.model import refusals, states
from sedano.model.ledger.outcome import Run
from sedano.model.ledger.records import ErrorRecord
from sedano.model.messages import codec
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.message import LAUNCH, Command, Member, TimeLimits
from sedano.ports import Ports, Telemetry

if TYPE_CHECKING:
    from sedano.engine.worker.coroutine_turns import Turns
    from sedano.engine.worker.time_limits import Limited

_UNRUN_BY_CODE = {refusals.CIRCUIT: "CircuitOpen", refusals.KEY: "LimitKey"}
"""What is recorded as the error of a task that was not run, where its state alone does not say it (`states.ROWS`)."""
TRACEBACK_CHARACTERS = 4_000
MESSAGE_CHARACTERS = 2_000

Ready = tuple[Held, Arguments]
"""What can run, with its arguments."""
Late = tuple[Held, bool]
"""What did not end in time, and whether its body had begun."""
RunLoop = Callable[[Sequence[Ready], "Execution", Batch, Callable[[Ran], None]], list[Late]]
"""Runs the async bodies of a batch together until it has no time left, hands over each that ended, and returns those that did not."""


class Execution(NamedTuple):
    """Runs bodies.

    *guard*: seconds before the deadline after which no body is started. *record* records a run. *look* looks at what is about to begin,
    *admission* learns how it went. *began*: the contexts of the bodies that have begun in this batch. *turns*: which async bodies may run
    at once; None: all. *holds* tells whether a job is still this worker's.
    """

    ports: Ports
    lamport: LamportClock
    conducting: Conducting
    pool: ThreadPoolExecutor | None
    run_loop: RunLoop | None
    guard: float
    record: Callable[[Ran], object]
    look: SecondLook
    admission: Admission
    began: list[TaskContext]
    holds: Callable[[Held], bool]
    vote: Callable[[TaskContext, str, bool, Sequence[Any]], None] | None = None
    turns: Turns | None = None

    def prepare(self, held: Sequence[Held], batch: Batch) -> tuple[list[Ready], list[Ran]]:
        """Return what can run, with its arguments, and how the others end without running; set the messages of those aside."""
        ready: list[Ready] = []
        unfit: list[Ran] = []
        for one in held:
            try:
                prepared = self._prepare(one, batch)
            except Exception as error:  # noqa: BLE001 - the last resort: it has not begun, so its claim is released
                contain(self.ports.telemetry, error, one.job.delivery, batch)
                batch.unstarted.append(one)
                continue
            if isinstance(prepared, Run):
                unfit.append(self.ended(one, prepared, None))
            elif prepared is not None:
                ready.append((one, prepared))
        return ready, unfit

    def run(self, ready: Sequence[Ready], batch: Batch, finished: Callable[[Ran], None]) -> None:
        """Run every body and hand each that ended to *finished*; those that may not start any more are given back."""
        self.look.begin(ready)
        self.began.clear()
        plain = [r for r in ready if not r[0].job.task.is_async]
        submitted = self._submit(plain, batch)
        inline = plain if submitted is None else []
        before = inline if batch.ordered and inline and ready[0] is inline[0] else []
        self._run_inline(before, batch, finished)
        self._run_async([r for r in ready if r[0].job.task.is_async], batch, finished)
        self._run_inline(inline[len(before) :], batch, finished)
        for (held, _), run in zip(plain, submitted or (), strict=False):
            self.finish(held, run.result(), batch, finished)

    def _run_inline(self, plain: Sequence[Ready], batch: Batch, finished: Callable[[Ran], None]) -> None:
        for held, arguments in plain:
            try:
                ran = self._ran(held, arguments, batch)
            except Exception as error:  # noqa: BLE001 - the last resort
                ran = self.surprised(held, error)
            if isinstance(ran, Ran):
                finished(ran)
            else:
                self.finish(held, ran, batch, finished)

    def context(self, held: Held, deadline: float) -> TaskContext:
        """Return the context that the body of *held* sees."""
        job, record = held.job, held.record
        clock, before = self.lamport.forward(), self._before(job.command) if job.command.attempt else 0
        fence = record.fence if record is not None else 0
        asks = Checkpoint(self.ports, job.command.task_id, fence) if record is not None else None
        made = TaskContext(
            command=job.command, fence=fence, deadline=deadline, clock=clock, token=job.token, permit=job.permit, checkpoint=asks,
            vote=self.vote, before=before,
        )  # fmt: skip
        self.began.append(made)
        return made

    def begin(self, held: Held, batch: Batch) -> TaskContext | None:
        """Return the context of the body of *held*, which begins now; None when it must not, because another worker may have begun it."""
        made = self.context(held, batch.deadline)
        if self.holds(held):
            return made
        made.over = True
        return None

    def hindered(self, held: Held, now: float, batch: Batch) -> Ran | Later | None:
        """Return how the body of *held*, which was to begin at *now*, ends unrun, or that it shall come later; None: it may begin."""
        found = self.look.at(held.job, now)
        if not isinstance(found, Stillborn):
            return found
        held = held._replace(stillborn=found)
        try:
            return self.ended(held, self._stillborn(held, found, batch), None)
        except SedanoError as error:
            return Later(f"how it ends is out of reach: {error}", LOOK_S)

    def ended(self, held: Held, run: Run, context: TaskContext | None, started: float | None = None) -> Ran:
        """Return *run* with its result encoded; a result that cannot be written as JSON is a failure of the task."""
        now = self.ports.clock.now()
        result = None
        if run.error is None and held.stillborn is None and not run.revoked and not run.replaced:
            try:
                result = "null" if run.value is None else _encoded(run.value)
            except Exception as wrong:  # noqa: BLE001 - a value of the user's, whose methods may raise anything
                run = Run(error=ErrorRecord(type(wrong).__name__, str(wrong)), poisonous=True)
        began = started if started is not None else now
        if context is None:
            return Ran(held=held, run=run, result=result, drafts=(), started=began, started_clock=self.lamport.forward(), ended=now)
        context.over = True
        if not context.added or run.error is not None or run.replaced:
            return Ran(
                held=held, run=run, result=result, drafts=tuple(context.outbox), started=began, started_clock=context.clock, ended=now,
            )  # fmt: skip
        added = context.added
        places = [(draft, draft.command.member) for draft in added]
        more = [draft.asking(member=Member(at.join_id, at.index, len(added))) for draft, at in places if at is not None]
        return Ran(
            held=held, run=run, result=result, drafts=(*context.outbox, *more), started=began, started_clock=context.clock, ended=now,
            added=len(added),
        )  # fmt: skip

    def _before(self, command: Command) -> int:
        try:
            return self.conducting.attempts_before(command)
        except SedanoError as error:
            self.ports.telemetry.log("warning", "its canvas is out of reach", task_id=command.task_id, error=str(error))
            return 0

    def _prepare(self, held: Held, batch: Batch) -> Arguments | Run | None:
        job, _, stillborn = held
        command = job.command
        try:
            if stillborn is not None:
                return self._stillborn(held, stillborn, batch)
            args, kwargs = self.conducting.gathering.arguments(command)
            if command.place is not None or command.task == LAUNCH:
                self.conducting.check(command)
            if (limits := limits_of(job)) is not None and limits.longest > batch.deadline - self.guard - job.received:
                return Run(error=_too_long(held, batch.deadline - job.received), poisonous=True)
            return job.task.parameters.fit(args, kwargs)
        except (MessageRefused, ArgumentError) as refused:
            code = refused.code if isinstance(refused, MessageRefused) else refusals.ARGUMENTS
            batch.park(held.job.delivery, code, refused.field, refused.detail)
            return Run(error=ErrorRecord(type(refused).__name__, str(refused)), poisonous=True)
        except HeaderFailed as failed:
            return Run(error=failed.error, poisonous=True, ignored=failed.error.type_name == Ignore.__name__)
        except SedanoError as error:
            self.ports.telemetry.log("warning", "arguments out of reach", task_id=held.job.command.task_id, error=str(error))
            batch.unstarted.append(held)
            batch.defer_job(held.job, error)
            return None

    def _stillborn(self, held: Held, why: Stillborn, batch: Batch) -> Run:
        """Return how a task that must not begin ends; what failed before it, in its header, is told rather than that it came too late."""
        gather = held.job.command.gather
        late = why.state in (states.REVOKED, states.EXPIRED)
        earlier = self.conducting.gathering.failure(gather) if gather is not None and late else None
        if why.state == states.POISON:
            count_at_once(self.ports.telemetry, "TasksPoisoned", held.job.task.name)
        if why.park and why.code != refusals.REVOKED:
            batch.park(held.job.delivery, why.code, why.field, why.detail)
        error = ErrorRecord(_UNRUN_BY_CODE.get(why.code) or states.ROWS[why.state].error_type, why.detail)
        return Run(error=earlier or error, poisonous=True)

    def _run_async(self, waiting: Sequence[Ready], batch: Batch, finished: Callable[[Ran], None]) -> None:
        if not waiting:
            return
        if self.run_loop is None:
            raise SedanoError("an async task was registered after the worker was built")
        left = batch.deadline - self.guard - self.ports.clock.now()
        for held, _ in waiting:
            if needed(held) > left:
                self.finish(held, None, batch, finished)
        waiting = [ready for ready in waiting if needed(ready[0]) <= left]
        for held, begun in self.run_loop(waiting, self, batch, finished) if waiting else ():
            if begun:
                self._out_of_time(held, batch, begun=True)
            else:
                self.finish(held, None, batch, finished)

    def _submit(self, plain: Sequence[Ready], batch: Batch) -> list[Future[Ran | Later | None]] | None:
        """Start the `def` bodies on the pool's threads, if there are any, so that they run while the loop runs."""
        if self.pool is None:
            return None
        return [self.pool.submit(self._one, held, arguments, batch) for held, arguments in plain]

    def finish(self, held: Held, ran: Ran | Later | None, batch: Batch, finished: Callable[[Ran], None]) -> None:
        """Hand *ran* to *finished*; what did not begin is put off, or given back where there is no time left (None)."""
        if isinstance(ran, Ran):
            finished(ran)
            return
        batch.unstarted.append(held)
        if ran is None:
            self._out_of_time(held, batch)
        else:
            from sedano.engine.pauses import put_off

            put_off(self.ports, held.job, ran.reason, ran.seconds, batch)

    def _one(self, held: Held, arguments: Arguments, batch: Batch) -> Ran | Later | None:
        try:
            return self._ran(held, arguments, batch)
        except Exception as error:  # noqa: BLE001 - the last resort
            return self.surprised(held, error)

    def surprised(self, held: Held, error: Exception) -> Ran:
        """Return the run of *held*, beside whose body something raised *error*: an attempt that failed."""
        answer = unexpected(self.ports.telemetry, error)
        return self.ended(held, Run(error=ErrorRecord(type(error).__name__, str(answer))), None)

    def _ran(self, held: Held, arguments: Arguments, batch: Batch) -> Ran | Later | None:
        started, limits = self.ports.clock.now(), limits_of(held.job)
        if self.look.due(started):
            self.look.ask(started)
        if (hindered := self.hindered(held, started, batch)) is not None:
            return hindered
        left = batch.deadline - self.guard - started
        if left < 0.0 if limits is None else left < limits.longest:
            return None
        context = self.begin(held, batch)
        if context is None:
            return None
        body, telemetry = held.job.task.function, self.ports.telemetry
        if limits is None:
            run = contextvars.copy_context().run(_call, body, arguments, context, telemetry)
        else:
            call = partial(_call, body, arguments, context, telemetry)
            run = contextvars.copy_context().run(self.limited(held, limits, context, started).run, call)
        ran = self.ended(held, run, context, started)
        self.admission.note(ran)
        return ran

    def limited(self, held: Held, limits: TimeLimits, context: TaskContext, started: float) -> Limited:
        """Return what keeps the body of *held* within its *limits*; of one that does not go, the failure is recorded meanwhile."""

        def late(run: Run) -> None:
            about = {"task": context.task, "task_id": context.id, "attempt": context.attempt, "trace_id": context.span.trace_id}
            self.ports.telemetry.log("error", "a body does not end at its hard time limit; its failure is recorded", **about)
            self.record(self.ended(held, run, None, started))

        from sedano.engine.worker.time_limits import Limited

        return Limited(limits, self.ports.clock, context, late)

    def _out_of_time(self, held: Held, batch: Batch, *, begun: bool = False) -> None:
        if not begun and not self.holds(held):
            words = "a claim or a visibility was over before the body began; another worker runs it"
            self.ports.telemetry.log("warning", words, task_id=held.job.command.task_id)
            batch.give_back(held.job.delivery)
            return
        self.ports.telemetry.log("warning", "no time left in this invocation", task_id=held.job.command.task_id)
        if begun:
            batch.give_back(held.job.delivery)
        else:
            put_back(held.job, batch)


def limits_of(job: Job) -> TimeLimits | None:
    """Return the time limits of the body of *job*: those that its message names, over those of its task."""
    own = job.command.time_limits
    return job.task.time_limits if own is None else own.over(job.task.time_limits)


def needed(held: Held) -> float:
    """Return the seconds that must be left so that the body of *held* is begun: those of its time limit."""
    limits = limits_of(held.job)
    return limits.longest if limits is not None else 0.0


def _too_long(held: Held, whole: float) -> ErrorRecord:
    given = f"a time limit of {needed(held):g} s cannot be honoured: an invocation of this worker lasts {whole:.0f} s"
    return ErrorRecord("OptionError", f"{given}; lower the limit, or give the function that runs {held.job.task.name} more time")


def _encoded(value: Any) -> str:
    text = codec.encode_value(value, "result")
    if len(text) > codec.MAX_DATA_BYTES:
        raise TooLarge(f"result: {len(text)} bytes; a result may have {codec.MAX_DATA_BYTES}")
    return text


def _call(function: Callable[..., Any], arguments: Arguments, context: TaskContext, telemetry: Telemetry) -> Run:
    CURRENT.set(context)
    TELEMETRY.set(telemetry)
    try:
        return Run(function(*arguments[0], **arguments[1]))
    except Exception as error:  # noqa: BLE001 - a body may raise anything; its answer is a value
        return failed(error)


def failed(error: BaseException) -> Run:
    """Return the run of a body that raised *error*; what a limit of this tree of tasks forbade, or no try can do, is not tried again."""
    if isinstance(error, TaskRevoked):
        return Run(revoked=True)
    if isinstance(error, Replaced):
        return _replaced(error)
    mark, frames = mark_of(error), error.__traceback__
    never = HopLimit | BudgetExhausted | Ignore | Reject | UnknownQueue | WaitInsideTask | WaitInsideLoop
    hopeless = mark.poisonous or isinstance(error, never)
    own = frames.tb_next if frames is not None and frames.tb_next is not None else frames
    text = "".join(traceback.format_exception(type(error), error, own))[-TRACEBACK_CHARACTERS:]
    record = ErrorRecord(type(error).__name__, _message(error)[:MESSAGE_CHARACTERS], text)
    return Run(error=record, poisonous=hopeless, section=mark.section, policy=mark.policy, ignored=isinstance(error, Ignore))


def _replaced(by: Replaced) -> Run:
    """Return the run of a body that is replaced; what replaces it is published with what it published itself."""
    context = CURRENT.get()
    if context is not None:
        context.outbox.append(by.draft)
    return Run(replaced=True)


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - a user's __str__ may raise as well; the type's name still tells
        return "(the exception cannot be shown as text)"
