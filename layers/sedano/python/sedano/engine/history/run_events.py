"""Reports of the ends of tasks: one row of the chronicle for each run, and for each end that an earlier process may not have reported.

A process can die between recording an outcome and sending its chronicle. The message is delivered again, and the end is reported from the
existing record: with the record's own clock, so an end that is reported twice is the same end (`sedano.model.history.registers`).

Counts that raise an alarm when workers die are written at once and not with the batch (`count_at_once`): the next body may kill this
process too.
"""

from __future__ import annotations

from collections.abc import Sequence

from sedano.engine.batch import Batch, Job, Judged, Ran
from sedano.engine.task_context import span_of
from sedano.model import refusals, states
from sedano.model.history import run_rows
from sedano.model.history.run_rows import MICRO, Row
from sedano.model.ledger.records import ErrorRecord, Outcome, TaskRecord
from sedano.model.messages import stamps
from sedano.model.messages.attributes import is_id
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.message import Command
from sedano.model.messages.trace import trace_of
from sedano.ports import Telemetry

ENDS = {state: (states.type_of(row.event), row.metric) for state, row in states.ROWS.items() if row.event}
"""The last event of a run, and the metric that counts it, by the state that was recorded."""
UNRUN = {refusals.BUSY: "SingletonsDropped"}
"""The metric of tasks that ended as revoked without a revocation, by the reason."""


def count_at_once(telemetry: Telemetry, metric: str, task: str) -> None:
    """Add one to *metric* of *task* and write it now, so that the death of this process cannot lose it.

    It is called before the write that it counts. So it may count too often, if the write is refused or its answer is lost, but never too
    seldom.
    """
    telemetry.count(metric, task=task)
    telemetry.flush()


def tell(judged: Judged, batch: Batch, lamport: LamportClock) -> None:
    """Report a run whose outcome is recorded."""
    ran, (end, metric) = judged.ran, ENDS[judged.verdict.state]
    job, _, stillborn = ran.held
    if end == run_rows.REVOKED and stillborn is not None:
        metric = UNRUN.get(stillborn.code, metric)
    elif ran.run.ignored and end == run_rows.REVOKED:
        metric = "TasksIgnored"
    began = (None, None) if stillborn is not None else (int(ran.started * MICRO), ran.started_clock)
    clock = judged.outcome.clock if judged.outcome is not None else lamport.forward()
    if metric:
        batch.count(metric, job.task.name)
    said = None if ran.run.error is None else _failed(judged.verdict.state, ran.run.error, job, batch)
    batch.chronicle.rows.append(_row(job, began, (int(ran.ended * MICRO), clock, end), said))
    _tell_calls(job, end, clock, ran.ended, batch)
    if job.command.traceparent is not None and stillborn is None:
        _tell_span(ran, batch, clock)


def _failed(state: states.TaskState, error: ErrorRecord, job: Job, batch: Batch) -> ErrorRecord | None:
    """Count the failure of a task that has a metric of its own for them, and return what the event says of *error*."""
    if job.task.failure_metric and state in states.FAILED:
        batch.count(job.task.failure_metric, job.task.name)
    return _said(state, error)


def _tell_span(ran: Ran, batch: Batch, clock: int) -> None:
    """Report the span of a run in a trace that began outside sedano; tasks within sedano are distinguished by root and parent."""
    command = ran.held.job.command
    found = span_of(command, ran.held.record.fence if ran.held.record is not None else 0, ran.started_clock)
    if found.trace_id != trace_of(command.lineage.root_id or command.task_id):
        batch.chronicle.line(
            "span", clock, ran.ended, uuid=command.task_id, name=command.task, trace_id=found.trace_id, span_id=found.span_id,
            parent_span_id=found.parent_id, flags=found.flags, started=ran.started,
        )  # fmt: skip


def tell_again(job: Job, record: TaskRecord, batch: Batch) -> None:
    """Report the end in the *record* of this message, because its worker may have died before reporting it.

    A revocation by id has the clock of a client that knows no run of the task, so it is reported as later than the receipt that found it.
    """
    end, _ = ENDS[record.state]
    clock = record.clock if record.message_id else max(record.clock, job.received_clock + 1)
    batch.chronicle.rows.append(_row(job, (None, None), (record.clock, clock, end), _said(record.state, record.error)))
    _tell_calls(job, end, clock, record.clock / MICRO, batch)


def _tell_calls(job: Job, end: str, clock: int, at: float, batch: Batch) -> None:
    """Report the end of each call that *job* ran with others (`batch=`): it has no record of its own, and was last reported as held."""
    if job.task.limits is None or not job.task.limits.runs or end == run_rows.RETRIED:
        return
    from sedano.model.collection import RUNS

    for task_id in _calls(job.command):
        batch.chronicle.line(end, clock, at, uuid=task_id, name=job.task.name.removesuffix(RUNS))


def _calls(command: Command) -> Sequence[str]:
    """Return the ids of the calls that a batch ran: those of its basket; a retry carries them itself. A first message may say anything."""
    from sedano.model.collection import Fetched, read

    calls = command.args[0] if command.args else None
    if isinstance(calls, Fetched):
        return calls.ids
    try:
        return [one for one in read(calls) if is_id(one)] if command.attempt and isinstance(calls, list) else ()
    except (ValueError, TypeError, LookupError):
        return ()


def tell_exit(outcome: Outcome, tenant: str | None, batch: Batch) -> None:
    """Report the end of a task of *tenant* that never ran, because a task before it failed."""
    end, _ = ENDS[outcome.state]
    exception = {"exception": f"{outcome.error.type_name}({outcome.error.message[:200]!r})"} if outcome.error is not None else {}
    own = {"stamps": stamps.for_event(None, tenant)} if tenant is not None else {}
    batch.chronicle.line(end, outcome.clock, outcome.at, uuid=outcome.task_id, name=outcome.name, **exception, **own)


def _said(state: str, error: ErrorRecord | None) -> ErrorRecord | None:
    """Return *error* in the form of the history: under the name of the state if no event type expresses it (`states.TOLD_BY_EXCEPTION`)."""
    return error._replace(type_name=str(state)) if state in states.TOLD_BY_EXCEPTION and error is not None else error


def _row(job: Job, began: tuple[int | None, int | None], ended: tuple[int, int, str], error: ErrorRecord | None) -> Row:
    command = job.command
    lineage = command.lineage
    event_stamps = stamps.for_event(command.stamps, command.tenant)
    return (
        command.task_id, command.task, job.delivery.queue, lineage.root_id or command.task_id, lineage.parent_id,
        command.attempt, command.source, int(command.time * MICRO), command.clock, int(job.received * MICRO), job.received_clock,
        *began, *ended,
        f"{error.type_name}({error.message[:200]!r})" if error is not None else None,
        *((event_stamps,) if event_stamps else ()),
    )  # fmt: skip
