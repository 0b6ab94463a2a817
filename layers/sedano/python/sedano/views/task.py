"""One task: its record, why it is not running, its attempts with their waiting and running times, its parent and its children.

The record and the reason come from `sedano.engine.cluster.explanation`, which stops at the first answer. Attempts, parent and children
come from the history; a view over 0 days leaves them out and does not read it. Arguments are kept for tasks that ended without success
(`sedano.engine.reruns`); for all other tasks, no store has them once a worker has taken the message.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from sedano.app import Sedano
from sedano.engine import bulk
from sedano.engine.cluster.explanation import Explanation, explain
from sedano.engine.reruns import arguments_of, headers_of
from sedano.model import states
from sedano.model.history.attempts import Attempt, attempts
from sedano.model.history.event_order import stamp
from sedano.model.ledger import tracebacks
from sedano.model.ledger.custom_states import custom_state_of
from sedano.model.ledger.records import ErrorRecord, TaskRecord
from sedano.model.ledger.tracebacks import Frame
from sedano.model.tasks import signature
from sedano.result.waits import must_be_id
from sedano.views.cluster import first_day, read_state
from sedano.views.reader import About, Reader
from sedano.views.tasks import TaskRow, row
from sedano.workflow.names import BULK

HIDDEN = "(hidden)"
"""The text that a redacted view shows for arguments, a result, an error's message and the code lines of a traceback."""


class TaskView(NamedTuple):
    """A task: its *state*, one *sentence* that explains it with its *evidence*, and its *record* (None: no worker recorded it).

    *frames* are those of its error's traceback. *attempts*, *parent*, *root* and *children* are from the history since the day
    *since*; they are empty if no day was read.
    """

    id: str
    name: str
    state: str
    sentence: str
    evidence: Mapping[str, Any]
    record: Mapping[str, Any] | None
    frames: tuple[Frame, ...]
    attempts: tuple[Attempt, ...]
    root: str
    parent: str
    children: tuple[TaskRow, ...]
    since: str
    redacted: bool
    about: About


def task(app: Sedano, task_id: str, *, days: int = 0, redact: bool = False, quick: bool = False) -> TaskView:
    """Return the task *task_id* with its attempts and relatives in the history of the last *days*; 0: without them.

    *redact*: hide its arguments, its result, the message of its error and the code in its traceback. *quick*: read neither timers nor
    messages that were set aside, which takes a request for each (`sedano.engine.cluster.explanation.explain`).

    Raises:
        OptionError: the id is missing, or *days* is less than 1.
        Unavailable: a store did not answer.
    """
    reader = Reader(app)
    why = explain(reader.ports, reader.queues, must_be_id(task_id), quick=quick)
    record = reader.ports.ledger.read([task_id]).get(task_id)
    since = first_day(reader.ports, days) if days else ""
    history = list(reader.ports.events.read(since)) if days else []
    own = list(_events(history, task_id))
    error = record.error if record is not None else None
    found = tracebacks.frames(error.traceback) if error is not None else ()
    name = record.name if record is not None else _said(own, "name")
    far = bulk.progress(reader.ports, task_id) if record is not None and record.name == BULK else None
    return TaskView(
        id=task_id, name=name, state=str(why.state),
        sentence=_sentence(why, error, redact) + (f" {far.sentence}" if far is not None else ""),
        evidence=why.evidence if not redact else {}, record=plain(record, redact=redact),
        frames=tuple(one._replace(code=HIDDEN) for one in found) if redact else found, attempts=_attempts(own, task_id, redact=redact),
        root=_said(own, "root_id"), parent=_said(own, "parent_id"), children=_children(history, task_id, redact=redact), since=since,
        redacted=redact, about=reader.about(settled=why.state in states.TERMINAL),
    )  # fmt: skip


def plain(record: TaskRecord | None, *, redact: bool = False) -> dict[str, Any] | None:
    """Return a record as plain values for a reader, without tokens and the messages of its outbox.

    ``arguments``: its arguments, as a JSON array and object; None if they are not kept or are in the blob store. ``headers``: those of its
    call; None if it has none, or no call is kept. ``retry``: whether `sedano retry` can run it again. ``custom_state``, ``meta``: what its
    running body shows, or None. *redact*: hide its arguments, headers, result, meta and message.
    """
    if record is None:
        return None
    error = record.error._asdict() if record.error is not None else None
    if redact and error is not None:
        error |= {"message": HIDDEN, "traceback": HIDDEN if error["traceback"] else "", "notes": HIDDEN if error["notes"] else ""}
    result = HIDDEN if redact and record.result is not None else record.result
    given = arguments_of(record)
    arguments = None if given is None else HIDDEN if redact else {"args": [*given[0]], "kwargs": {**given[1]}}
    said, custom = headers_of(record), custom_state_of(record)
    meta = None if custom is None else HIDDEN if redact else {**custom.meta}
    return {
        "name": record.name, "attempt": record.attempt, "claims": record.claims, "owner": record.owner, "fence": record.fence,
        "message_id": record.message_id, "changed": record.clock / 1_000_000, "expires": record.expires, "not_before": record.not_before,
        "published": len(record.outbox), "result": result, "error": error,
        "arguments": arguments, "headers": None if not said else HIDDEN if redact else {**said},
        "retry": record.call is not None,
        "custom_state": custom.state if custom is not None else None, "meta": meta,
    }  # fmt: skip


def call_text(arguments: Mapping[str, Any]) -> str:
    """Return the kept arguments of a task as in a call: ``7, order="x"``."""
    return signature.call_text(arguments["args"], arguments["kwargs"])


def _sentence(why: Explanation, error: ErrorRecord | None, redact: bool) -> str:
    return why.sentence.replace(error.message, HIDDEN) if redact and error is not None and error.message else why.sentence


def _events(history: Iterable[bytes], task_id: str) -> Iterator[dict[str, Any]]:
    """Yield the events of *task_id*; lines that have no place in the total order are left out."""
    for line in (line for blob in history for line in blob.splitlines() if task_id.encode() in line):
        try:
            event = json.loads(line)
            if isinstance(event, dict) and event.get("uuid") == task_id:
                stamp(event)
                yield event
        except (ValueError, RecursionError):
            continue


def _said(events: Iterable[Mapping[str, Any]], field: str) -> str:
    return next((str(event[field]) for event in events if event.get(field)), "")


def _attempts(events: Iterable[Mapping[str, Any]], task_id: str, *, redact: bool) -> tuple[Attempt, ...]:
    found = attempts(events, task_id)
    return tuple(one._replace(error=_type(one.error)) for one in found) if redact else found


def _children(history: Iterable[bytes], task_id: str, *, redact: bool) -> tuple[TaskRow, ...]:
    """Return the tasks that *task_id* published, the latest first."""
    known, _ = read_state(history)
    rows = tuple(row(one) for one in known.tasks_by_time() if one.fields["parent_id"] == task_id)
    return tuple(one._replace(error=_type(one.error)) for one in rows) if redact else rows


def _type(error: str) -> str:
    return error.partition("(")[0]
