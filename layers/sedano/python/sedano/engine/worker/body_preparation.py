"""Prepares bodies: fetches and fits their arguments, or decides how the task ends without running."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sedano.engine.batch import Arguments, Batch, Held, Job, Ran, Stillborn
from sedano.engine.canvas.chord_results import HeaderFailed
from sedano.engine.canvas.continuation import Conducting
from sedano.engine.history.run_events import count_at_once
from sedano.engine.redelivery import put_back
from sedano.engine.unexpected_errors import contain
from sedano.engine.worker.body_results import Endings
from sedano.engine.worker.claims import is_inline
from sedano.errors import ArgumentError, Ignore, MessageRefused, SedanoError
from sedano.model import refusals, states
from sedano.model.ledger.outcome import Run
from sedano.model.ledger.records import ErrorRecord
from sedano.model.messages.message import LAUNCH, PACK, Command, TimeLimits
from sedano.ports import Ports

_UNRUN_BY_CODE = {refusals.CIRCUIT: "CircuitOpen", refusals.KEY: "LimitKey"}
"""The recorded error of a task that was not run, if its state does not imply it (`states.ROWS`)."""
Ready = tuple[Held, Arguments]
"""A job that can run, with its arguments."""


class Preparation(NamedTuple):
    """Prepares the bodies of claimed jobs. *guard*: no body is started in the last *guard* seconds before the deadline."""

    ports: Ports
    conducting: Conducting
    endings: Endings
    guard: float

    def prepare(self, held: Sequence[Held], batch: Batch) -> tuple[list[Ready], list[Ran]]:
        """Return the jobs that can run, with their arguments, and the ends of the others; park the messages of the others."""
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
                unfit.append(self.endings.ended(one, prepared, None))
            elif prepared is not None:
                ready.append((one, prepared))
        return ready, unfit

    def stillborn(self, held: Held, why: Stillborn, batch: Batch) -> Run:
        """Return the end of a task that must not begin; a failure in its header has precedence over its expiry."""
        gather = held.job.command.gather
        late = why.state in (states.REVOKED, states.EXPIRED)
        earlier = self.conducting.gathering.failure(gather) if gather is not None and late else None
        if why.state == states.POISON:
            count_at_once(self.ports.telemetry, "TasksPoisoned", held.job.task.name)
        if why.park and why.code != refusals.REVOKED:
            batch.park(held.job.delivery, why.code, why.field, why.detail)
        error = ErrorRecord(_UNRUN_BY_CODE.get(why.code) or states.ROWS[why.state].error_type, why.detail)
        return Run(error=earlier or error, poisonous=True)

    def attempts_before(self, command: Command) -> int:
        """Return how many attempts of *command* its canvas began before; 0 if the canvas cannot be read."""
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
                return self.stillborn(held, stillborn, batch)
            args, kwargs = self.conducting.gathering.arguments(command)
            if command.place is not None or command.task in (LAUNCH, PACK):
                self.conducting.check(command, args)
            if (limits := limits_of(job)) is not None and limits.longest > batch.deadline - self.guard - job.received:
                if is_inline(job):  # its message is sent, and begins with a whole invocation
                    batch.unstarted.append(held)
                    put_back(job, batch)
                    return None
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


def limits_of(job: Job) -> TimeLimits | None:
    """Return the time limits of the body of *job*: those that its message names, over those of its task."""
    own = job.command.time_limits
    return job.task.time_limits if own is None else own.over(job.task.time_limits)


def needed(held: Held) -> float:
    """Return the remaining seconds that the body of *held* needs to begin: those of its time limit."""
    limits = limits_of(held.job)
    return limits.longest if limits is not None else 0.0


def _too_long(held: Held, whole: float) -> ErrorRecord:
    given = f"a time limit of {needed(held):g} s cannot be honoured, because an invocation of this worker lasts {whole:.0f} s"
    return ErrorRecord("OptionError", f"{given}; lower the limit, or give the function that runs {held.job.task.name} more time")
