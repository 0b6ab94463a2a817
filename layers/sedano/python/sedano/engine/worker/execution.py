"""Runs prepared bodies (`.body_preparation`): checks them once more, calls them, and passes on their results (`.body_results`).

`async def` bodies share one event loop (`sedano.engine.worker.event_loop`, bound late: programs without async tasks do not pay for it);
`def` bodies run on the threads of the concurrency budget, or inline if it is one.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from sedano.engine.batch import Arguments, Batch, Held, Later, Ran, Stillborn
from sedano.engine.redelivery import put_back
from sedano.engine.revocation.record import Checkpoint
from sedano.engine.task_context import NO_TABLES, TaskContext
from sedano.engine.worker.admission import Admission
from sedano.engine.worker.body_preparation import Preparation, Ready, limits_of, needed
from sedano.engine.worker.body_results import Endings, called
from sedano.engine.worker.start_check import LOOK_S, SecondLook
from sedano.errors import SedanoError
from sedano.model.ledger.outcome import Run
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.message import PACK, TimeLimits
from sedano.ports import Ports

if TYPE_CHECKING:
    from sedano.engine.configuration import Configuration
    from sedano.engine.hooks import RunHooks
    from sedano.engine.registry import Registry
    from sedano.engine.worker.body_coroutines import Turns
    from sedano.engine.worker.packs import Packs
    from sedano.engine.worker.time_limits import Limited
    from sedano.model.tasks.task_spec import TaskSpec

Late = tuple[Held, bool]
"""Jobs that did not end in time, and whether their bodies had begun."""
RunLoop = Callable[[Sequence[Ready], "Execution", Batch, Callable[[Ran], None]], list[Late]]
"""Runs the async bodies of a batch together until its time is over, passes on each that ended, and returns those that did not."""


DRAINED = "the worker stops; a task that it has not begun goes back to its queue"


def hooks_of(registry: Registry) -> RunHooks | None:
    """Return the hooks of the bodies of *registry*; None without any."""
    if not registry.hooks:
        return None
    from sedano.engine.hooks import RunHooks

    return RunHooks(registry.hooks)


def of_revocations(hooks: RunHooks | None) -> RunHooks | None:
    """Return *hooks* if one of them is called for revocations: without any, a revocation need not read its record."""
    return hooks if hooks is not None and hooks.are_of_revocations else None


class Execution(NamedTuple):
    """Runs bodies.

    *guard*: no body is started in the last *guard* seconds before the deadline. *record* records a run. *look* checks a job that is about
    to begin, *admission* gets its end. *began*: the contexts of the bodies that have begun in this batch. *turns*: which async bodies may
    run at once; None: all. *holds* returns whether this worker still holds a job. *draining*: set when no more bodies are started.
    *tables*: those that effects may write to. *configuration*: that of the app; each body sees one version. *hooks*: those of the app.
    *packs* runs packs.
    """

    ports: Ports
    lamport: LamportClock
    preparation: Preparation
    endings: Endings
    pool: ThreadPoolExecutor | None
    run_loop: RunLoop | None
    guard: float
    record: Callable[[Ran], object]
    look: SecondLook
    admission: Admission
    began: list[TaskContext]
    holds: Callable[[Held], bool]
    draining: threading.Event
    vote: Callable[[TaskContext, str, bool, Sequence[Any]], None] | None = None
    turns: Turns | None = None
    tables: Mapping[str, tuple[str, ...]] = NO_TABLES
    configuration: Configuration[Any] | None = None
    hooks: RunHooks | None = None
    packs: Packs | None = None

    def run(self, ready: Sequence[Ready], batch: Batch, finished: Callable[[Ran], None]) -> None:
        """Run every body and pass each that ended to *finished*; jobs that may not start any more are given back."""
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
                ran = self.endings.surprised(held, error)
            if isinstance(ran, Ran):
                finished(ran)
            else:
                self.finish(held, ran, batch, finished)

    def context(self, held: Held, deadline: float) -> TaskContext:
        """Return the context that the body of *held* sees."""
        job, record = held.job, held.record
        clock, before = self.lamport.forward(), self.preparation.attempts_before(job.command) if job.command.attempt else 0
        fence = record.fence if record is not None else 0
        asks = Checkpoint(self.ports, job.command.task_id, fence) if record is not None else None
        made = TaskContext(
            command=job.command, fence=fence, deadline=deadline, clock=clock, token=job.token, permit=job.permit, checkpoint=asks,
            vote=self.vote, before=before,
        )  # fmt: skip
        if self.tables:
            made.tables, made.recorded = self.tables, record is not None or job.mode != "at_least_once"
        if self.configuration is not None:
            made.snapshot = self.configuration.newest
        self.began.append(made)
        return made

    def body(self, task: TaskSpec) -> Callable[..., Any]:
        """Return the function of *task*, with the hooks of the app around it."""
        return task.function if self.hooks is None else self.hooks.around(task)

    def begin(self, held: Held, batch: Batch) -> TaskContext | None:
        """Return the context of the body of *held*, which begins now; None when it must not, because another worker may have begun it."""
        made = self.context(held, batch.deadline)
        if self.holds(held):
            return made
        made.over = True
        return None

    def hindered(self, held: Held, why: Stillborn | Later, batch: Batch) -> Ran | Later:
        """Return the end or the deferral of *held*, whose body must not begin; *why* is the result of the second look."""
        if isinstance(why, Later):
            return why
        held = held._replace(stillborn=why)
        try:
            return self.endings.ended(held, self.preparation.stillborn(held, why, batch), None)
        except SedanoError as error:
            return Later(f"its end cannot be determined now: {error}", LOOK_S)

    def _run_async(self, waiting: Sequence[Ready], batch: Batch, finished: Callable[[Ran], None]) -> None:
        if not waiting:
            return
        if self.run_loop is None:
            raise SedanoError("an async task was registered after the worker was built")
        left = batch.deadline - self.guard - self.ports.clock.now()
        if self.draining.is_set():
            left = -1.0
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
        """Pass *ran* to *finished*; a job that did not begin is deferred, or given back if there is no time left (None)."""
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
            return self.endings.surprised(held, error)

    def _ran(
        self, held: Held, arguments: Arguments, batch: Batch, late: Callable[[Ran], None] | None = None
    ) -> Ran | Later | None:
        """Run the body of *held*, or its members if it is a pack; None: it must not begin. *late*: it is a member of a pack and may begin
        (`begins`); gets its end if it does not end at its hard limit."""
        started, limits = self.ports.clock.now(), limits_of(held.job)
        if late is None:
            if self.draining.is_set():
                return None
            if self.look.due(started):
                self.look.ask(started)
            if (why := self.look.at(held.job, started)) is not None:
                return self.hindered(held, why, batch)
            left = batch.deadline - self.guard - started
            if left < 0.0 if limits is None else left < limits.longest:
                return None
            if held.job.command.task == PACK and self.packs is not None:
                return self.packs.run(held, arguments, batch, self) if self.holds(held) else None
        if (context := self.begin(held, batch)) is None:
            return None
        call = called if limits is None else partial(self._within, self.limited(held, limits, context, started, late))
        run = contextvars.copy_context().run(call, self.body(held.job.task), arguments, context, self.ports.telemetry)
        ran = self.endings.ended(held, run, context, started)
        return self._noted(ran) if self.admission.noting else ran

    def _within(self, limited: Limited, *call: Any) -> Run:
        """Call a body within its limits."""
        return limited.run(partial(called, *call))

    def _noted(self, ran: Ran) -> Ran:
        self.admission.note(ran)
        return ran

    def begins(self, held: Held, batch: Batch, longest: float) -> bool:
        """Return whether the body of *held*, a member of a pack, may begin now: not in less time than the *longest* one took (seconds)."""
        now = self.ports.clock.now()
        if self.draining.is_set():
            return False
        if self.look.due(now):
            self.look.ask(now)
        left = batch.deadline - self.guard - now
        return left >= max(needed(held), longest) and self.look.at_member(held.job, now) is None

    def ran(self, held: Held, arguments: Arguments, batch: Batch, late: Callable[[Ran], None]) -> Ran | None:
        """Run the body of *held*, a member of a pack; None: it must not begin, because another worker may have begun it. *late* gets its
        end if it does not end at its hard limit."""
        found = self._ran(held, arguments, batch, late)
        return found if isinstance(found, Ran) else None

    def recorded(self, ran: Ran) -> object:
        """Record *ran*."""
        return self.record(ran)

    def limited(
        self, held: Held, limits: TimeLimits, context: TaskContext, started: float, record: Callable[[Ran], object] | None = None
    ) -> Limited:
        """Return the object that keeps the body of *held* within its *limits*; if the body does not end, its failure is recorded
        meanwhile, by *record* if it is given."""

        def late(run: Run) -> None:
            about = {"task": context.task, "task_id": context.id, "attempt": context.attempt, "trace_id": context.span.trace_id}
            self.ports.telemetry.log("error", "a body does not end at its hard time limit; its failure is recorded", **about)
            (record or self.record)(self.endings.ended(held, run, None, started))

        from sedano.engine.worker.time_limits import Limited

        return Limited(limits, self.ports.clock, context, late)

    def _out_of_time(self, held: Held, batch: Batch, *, begun: bool = False) -> None:
        if not begun and not self.holds(held):
            words = "a claim or a visibility was over before the body began; another worker runs it"
            self.ports.telemetry.log("warning", words, task_id=held.job.command.task_id)
            batch.give_back(held.job.delivery)
            return
        self._told(held)
        if begun:
            batch.give_back(held.job.delivery)
            if self.draining.is_set():  # it was cancelled because the worker stops, and has ended: its claim counts against no worker
                batch.unstarted.append(held)
        else:
            put_back(held.job, batch)

    def _told(self, held: Held) -> None:
        """Log why the body of *held* does not run here."""
        if self.draining.is_set():
            self.ports.telemetry.log("info", DRAINED, task_id=held.job.command.task_id)
        else:
            self.ports.telemetry.log("warning", "no time left in this invocation", task_id=held.job.command.task_id)
