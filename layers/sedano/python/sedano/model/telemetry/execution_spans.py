"""The spans of one execution of a task, for a tracing system: its publication, its wait in the queue, and the execution itself. Pure.

They are derived from the message and its execution, so neither a publisher nor a body does anything for them:

    span of the publisher → publish TASK (producer) → wait in QUEUE (internal)
                                                    → TASK (consumer)

The trace and the span of an execution are those of `sedano.model.messages.trace`, which its log lines and its messages name. The ids of the
other two spans follow from the task and the attempt. A message that is delivered again has the same publication, under the same id.

The body of a join links to the wait of each member: their ids follow from the join and their numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple

from sedano.model import states
from sedano.model.ledger.records import ErrorRecord
from sedano.model.messages.message import Command
from sedano.model.messages.trace import Span
from sedano.model.states import TaskState

INTERNAL, PRODUCER, CONSUMER = 1, 4, 5
"""The kinds of spans, as OpenTelemetry numbers them."""
MOST_LINKS = 128
"""How many links a span has at most: the limit of OpenTelemetry."""
LONGEST_ERROR = 200
"""How many characters of an error's message a span has."""
Value = str | int | float | bool


class TracedRun(NamedTuple):
    """One execution of *command* that is recorded: its *span*, the *queue* and the *worker*, when its message was received, when it started
    and ended (epoch s), the *state* that was recorded, and its *error*.
    """

    command: Command
    span: Span
    queue: str
    worker: str
    received: float
    started: float
    ended: float
    state: TaskState
    error: ErrorRecord | None = None


class TraceLink(NamedTuple):
    """A link to a span of any trace."""

    trace_id: str
    span_id: str


class ExportedSpan(NamedTuple):
    """A span for a tracing system; times are epoch seconds. *error*: the description of a failure, or ""."""

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    kind: int
    begin: float
    end: float
    attributes: Mapping[str, Value]
    error: str = ""
    links: Sequence[TraceLink] = ()
    tracestate: str = ""


def execution_spans(run: TracedRun) -> list[ExportedSpan]:
    """Return the spans of *run*: none if the trace that it belongs to is not sampled."""
    command, span = run.command, run.span
    if not int(span.flags, 16) & 1:
        return []
    published, waited = _ids(command)
    trace_id, state, about = span.trace_id, command.tracestate or "", _about(run)
    return [
        ExportedSpan(
            trace_id=trace_id, span_id=published, parent_id=_publisher(run), name=f"publish {command.task}", kind=PRODUCER,
            begin=command.time, end=command.time, attributes=about, tracestate=state,
        ),
        ExportedSpan(
            trace_id=trace_id, span_id=waited, parent_id=published, name=f"wait in {run.queue}", kind=INTERNAL, begin=command.time,
            end=max(command.time, run.received), attributes=about, tracestate=state,
        ),
        ExportedSpan(
            trace_id=trace_id, span_id=span.span_id, parent_id=published, name=command.task, kind=CONSUMER, begin=run.started,
            end=max(run.started, run.ended), attributes=_outcome(run, about), error=_error(run), links=_links(run), tracestate=state,
        ),
    ]  # fmt: skip


def _ids(command: Command) -> tuple[str, str]:
    """Return the ids of the spans of a publication and of its wait: the two halves of one digest."""
    digest, member = _digest(f"publication/{command.task_id}/{command.attempt}"), command.member
    return digest[:16], digest[16:] if member is None else member_wait_id(member.join_id, member.index, command.attempt)


def publication_id(task_id: str, attempt: int) -> str:
    """Return the id of the span in which the message of this *attempt* of *task_id* was published."""
    return _digest(f"publication/{task_id}/{attempt}")[:16]


def member_wait_id(join_id: str, index: int, attempt: int = 0) -> str:
    """Return the id of the span in which member *index* of the join *join_id* waited."""
    return _digest(f"member/{join_id}/{index}/{attempt}")[:16]


def _publisher(run: TracedRun) -> str:
    """Return the parent of a publication: the span in the message, or else the publication of the parent task."""
    lineage = run.command.lineage
    return run.span.parent_id or (publication_id(lineage.parent_id, 0) if lineage.parent_id else "")


def _links(run: TracedRun) -> list[TraceLink]:
    join = run.command.gather
    if join is None:
        return []
    return [TraceLink(run.span.trace_id, member_wait_id(join.join_id, index)) for index in range(min(join.size, MOST_LINKS))]


def _about(run: TracedRun) -> dict[str, Value]:
    command = run.command
    about: dict[str, Value] = {
        "messaging.system": "sedano", "messaging.destination.name": run.queue, "messaging.message.id": command.id,
        "sedano.task": command.task, "sedano.task_id": command.task_id, "sedano.root_id": command.lineage.root_id or command.task_id,
        "sedano.attempt": command.attempt,
    }  # fmt: skip
    if command.tenant:
        about["sedano.tenant"] = command.tenant
    return about


def _outcome(run: TracedRun, about: Mapping[str, Value]) -> dict[str, Value]:
    found: dict[str, Value] = {**about, "sedano.state": str(run.state), "sedano.worker": run.worker}
    if run.error is not None:
        found["error.type"] = run.error.type_name
    return found


def _error(run: TracedRun) -> str:
    """Return the description of the error of an attempt that failed: one that is retried failed, too."""
    if run.error is None or run.state not in (states.RETRY, *states.FAILED):
        return ""
    return f"{run.error.type_name}: {run.error.message[:LONGEST_ERROR]}"


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=16).hexdigest()
