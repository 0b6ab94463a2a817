"""Runs an unsuccessful task again: as a new task, under an id that is derived from the first one's.

The record of an ended task never changes: callers have read it, and the tasks after it in a canvas have ended too. So another run needs
another id (`sedano.model.messages.lineage.rerun_id`). The derived id is always the same, so two requests publish copies of one task, which
its claim absorbs. A rerun that fails is run again under an id that is derived from its own.

The worker keeps the **call** with the record of such an end: the message as far as another run needs it. Its place in a canvas is left out,
because the canvas has continued without it: a rerun arrives at no join, nothing follows it, and it does not expire. A body of a
chord keeps its join, whose results it reads again. Long arguments lie in the blob store.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sedano.engine.batch import Job, Ran
from sedano.engine.canvas.map_tasks import keeps_arguments
from sedano.engine.drafts import Addressed, CommandDraft, Composer
from sedano.engine.registry import Registry
from sedano.errors import MessageRefused, RerunRefused, SedanoError
from sedano.model import refusals, states
from sedano.model.ledger.records import Posted, TaskRecord
from sedano.model.messages import codec, headers
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.lineage import DEFAULT_BUDGET, Lineage, rerun_id
from sedano.model.messages.message import MAP, MAP_ASYNC, Command
from sedano.model.queues import queue_of
from sedano.ports import Blobs, Ports
from sedano.ports.absent import has

CALL_BYTES = 4_096
"""The arguments of a longer message are kept in the blob store, because records are charged per KiB and blobs per request."""
REPLACED = (refusals.SUPERSEDED, refusals.BUSY)
"""Reasons for which a task did not run because another call replaces it: its call is not kept."""
OURS = "sedano."
"""How the names of the library's own tasks begin."""
_SOURCE = "rerun"


class Rerun(NamedTuple):
    """A task to run again: the id under which it ended, and the *command* and *queue* (a key) of the next run."""

    ended_id: str
    command: Command
    queue: str
    serial_key: str | None = None


def call_of(ran: Ran, ports: Ports) -> Posted | None:
    """Return the call to keep with the record of *ran*, which ended without success; None if another run makes no sense.

    If the blob store does not answer, long arguments are not kept, which is logged.
    """
    job, stillborn = ran.held.job, ran.held.stillborn
    replaced = stillborn is not None and stillborn.code in REPLACED
    if ran.run.ignored or replaced or _is_ours(job.task.name):
        return None
    try:
        if not keeps_arguments(job, ports):
            return None
        body = _written(job, ports)
    except SedanoError as error:
        words = "the arguments of a failed task are not kept: `sedano retry` cannot run it again"
        ports.telemetry.log("warning", words, task_id=job.command.task_id, error=str(error))
        return None
    return Posted(job.delivery.queue, body, tenant=job.command.tenant, serial_key=job.delivery.serial_key)


def _is_ours(name: str) -> bool:
    """Return whether *name* is a task of the library that runs others, such as a launch; a map is a call of the user."""
    return name.startswith(OURS) and name not in (MAP, MAP_ASYNC)


def _written(job: Job, ports: Ports) -> str:
    command = job.command._replace(place=None, member=None, section=None, attempt=0)
    text = codec.encode(command)
    if len(text) <= CALL_BYTES:  # as is any message without arguments, such as one with a claim check
        return text
    ref = ports.blobs.put(codec.encode_data(command.args, command.kwargs))
    return codec.encode(command._replace(args=(), kwargs={}, data_ref=ref))


def with_arguments_kept(call: Posted, blobs: Blobs) -> Posted:
    """Return *call* with its arguments in the blob store."""
    command = codec.decode(call.body)
    if not isinstance(command, Command) or command.data_ref is not None:
        return call
    ref = blobs.put(codec.encode_data(command.args, command.kwargs))
    return call._replace(body=codec.encode(command._replace(args=(), kwargs={}, data_ref=ref)))


def rerun_of(command: Command, queue: str, serial_key: str | None, most_budget: int) -> Rerun:
    """Return the next run of the ended task of *command*, which was received from *queue*."""
    before = command.lineage
    budget = before.budget if before.budget <= most_budget else DEFAULT_BUDGET
    again = command._replace(
        id="", task_id=rerun_id(command.task_id), attempt=0, section=None, member=None, place=None, expires=None,
        lineage=Lineage(before.root_id or command.task_id, command.task_id, before.hops, budget),
    )  # fmt: skip
    return Rerun(command.task_id, again, queue, serial_key)


def is_ended_by(record: TaskRecord | None, command: Command) -> bool:
    """Return whether the message of *command* ended the task of *record* without success, so that no delivery of it runs it again."""
    return record is not None and record.state in states.UNSUCCESSFUL and record.message_id == command.id


def arguments_of(record: TaskRecord) -> tuple[Sequence[Any], Mapping[str, Any]] | None:
    """Return the arguments in the call of *record*; None if it has none, or names a blob."""
    try:
        command = codec.decode(record.call.body) if record.call is not None else None
    except MessageRefused:
        return None
    return (command.args, command.kwargs) if isinstance(command, Command) and command.data_ref is None else None


def headers_of(record: TaskRecord) -> Mapping[str, Any] | None:
    """Return the headers in the call of *record*; None if it keeps no call."""
    try:
        command = codec.decode(record.call.body) if record.call is not None else None
    except MessageRefused:
        return None
    return headers.read(command.headers) if isinstance(command, Command) else None


def planned(ports: Ports, ids: Sequence[str]) -> list[Rerun | SedanoError]:
    """Return, for each of the *ids* of tasks, its next run, or the error that forbids one.

    Raises:
        Unavailable: the ledger did not answer.
    """
    records = ports.ledger.read([*ids, *map(rerun_id, ids)])
    return [_planned(ports, one, records.get(one), records.get(rerun_id(one))) for one in ids]


def _planned(ports: Ports, task_id: str, record: TaskRecord | None, later: TaskRecord | None) -> Rerun | SedanoError:
    if record is None:
        return RerunRefused(task_id, f"no task is recorded under it; `sedano explain {task_id}` looks for it", missing=True)
    if record.state not in states.TERMINAL:
        return RerunRefused(task_id, f"it is {record.state} and has not ended")
    if record.state == states.SUCCESS:
        return RerunRefused(task_id, f"it ended as SUCCESS; to run it once more, publish it: sedano call {record.name} …")
    if later is not None:
        return RerunRefused(task_id, f"it was run again as {rerun_id(task_id)}, which is {later.state}")
    if record.call is None:
        return RerunRefused(task_id, _why_not_kept(record))
    try:
        return _read(ports, record.call)
    except SedanoError as error:
        return error


def edited(one: Rerun, args: Sequence[Any] | None, kwargs: Mapping[str, Any] | None, registry: Registry) -> Rerun:
    """Return *one* with other arguments; those that are None stay as they were.

    Raises:
        RerunRefused: its other arguments are in the blob store, or are results of a canvas.
        ArgumentError: the task does not take these arguments.
    """
    before = one.command
    if before.gather is not None:
        raise RerunRefused(one.ended_id, "its first argument is the results of a chord; retry it without other arguments")
    if before.data_ref is not None and (args is None or kwargs is None):
        raise RerunRefused(one.ended_id, "its arguments are in the blob store and cannot be edited in part; give args and kwargs")
    command = before._replace(
        args=before.args if args is None else tuple(args), kwargs=before.kwargs if kwargs is None else dict(kwargs), data_ref=None
    )  # fmt: skip
    spec = registry.tasks.get(command.task)
    if spec is not None:
        spec.parameters.fit(command.args, command.kwargs)
    return one._replace(command=command)


def _read(ports: Ports, call: Posted) -> Rerun:
    """Return the next run of the task whose *call* was kept.

    Raises:
        MessageRefused: this version cannot read it.
        RerunRefused: it is a step of a workflow, whose run must be retried.
    """
    command = codec.decode(call.body)
    if not isinstance(command, Command):
        raise MessageRefused(refusals.SCHEMA, "type", "a call is kept as a command")
    parent = command.lineage.parent_id
    if parent and has(ports.flow_runs) and ports.flow_runs.read(parent) is not None:
        raise RerunRefused(command.task_id, f"it is a step of the workflow run {parent}; retry that: sedano retry {parent}")
    return rerun_of(command, call.queue, call.serial_key, ports.most_budget)


def _why_not_kept(record: TaskRecord) -> str:
    cause = record.error.cause if record.error is not None else ""
    if cause and cause != record.task_id:
        return f"it never ran, because the task {cause} of its canvas failed; publish the canvas again"
    if record.forgotten:
        return "its result was forgotten, and its arguments with it; publish it again"
    if not record.message_id:
        return "it was revoked before a worker received it, so its arguments were not kept; publish it again"
    return f"its arguments were not kept; publish it again: sedano call {record.name} …"


def publish(ports: Ports, reruns: Sequence[Rerun]) -> list[SedanoError | None]:
    """Publish *reruns*; answer None for each that its queue accepted. Publishing them again is safe."""
    composer = Composer(_SOURCE, LamportClock(lambda: int(ports.clock.now() * 1_000_000)), ports)
    answers: dict[int, SedanoError | None] = {}
    for queue in dict.fromkeys(one.queue for one in reruns):
        numbers = [number for number, one in enumerate(reruns) if one.queue == queue]
        answers |= dict(zip(numbers, _sent(ports, composer, queue, [reruns[number] for number in numbers]), strict=True))
    return [answers[number] for number in range(len(reruns))]


def _sent(ports: Ports, composer: Composer, queue: str, reruns: Sequence[Rerun]) -> Iterable[SedanoError | None]:
    try:
        return ports.queues.send(queue, [composed(composer, one).outgoing for one in reruns])
    except SedanoError as error:
        return [error] * len(reruns)


def composed(composer: Composer, one: Rerun) -> Addressed:
    """Return the message that runs *one*."""
    draft = CommandDraft(queue_of(one.queue), one.command, serial_key=one.serial_key)
    return composer.compose(draft, one.command.lineage)
