"""The tasks of the event history, one by one: all of some days, or those that a search finds.

The history of whole days is read: one S3 GET for each object of the recorder. The view says how far back it looked. A deduplication key is
also looked up in the ledger, under the ids that the declared tasks have with this key: a BatchGetItem for each hundred of them. So a keyed
task is found for as long as its record is kept, before the recorder has written its events and after they are older than the days.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import NamedTuple

from sedano.app import Sedano
from sedano.model.history.registers import Timeline
from sedano.model.ledger.records import TaskRecord
from sedano.model.states import SUBJECTS
from sedano.views.cluster import UNNAMED, first_day, timelines
from sedano.views.reader import About, Reader
from sedano.views.task_query import TaskQuery

EVERY = TaskQuery()
MOST = 200
"""How many tasks a page shows unless another number is asked for."""


class TaskRow(NamedTuple):
    """A task by its *id*: its *name*, its *state*, the time of its last event (epoch s), the *worker*, the *error* that it ended with.

    *waited* and *ran* are seconds, None while unknown.
    """

    id: str
    name: str
    state: str
    at: float
    queue: str
    waited: float | None
    ran: float | None
    worker: str
    error: str


class TasksView(NamedTuple):
    """The *rows* that a search found, the latest first, of *found* in all; *looked_at* tasks since the day *since* were searched.

    *unreadable* counts event lines that have no place in the total order. *kept* of the rows are from the ledger: the events of these days
    have nothing of them.
    """

    rows: tuple[TaskRow, ...]
    found: int
    looked_at: int
    since: str
    unreadable: int
    about: About
    kept: int = 0


def tasks(app: Sedano, days: int, query: TaskQuery = EVERY, limit: int = MOST) -> TasksView:
    """Return the tasks of the last *days*, today included, that *query* finds, at most *limit* of them.

    Raises:
        OptionError: *days* is less than 1.
    """
    reader = Reader(app)
    hits = search(reader, days, query)
    found = (*hits.kept, *hits.past)
    return TasksView(
        rows=tuple(map(row, found[:limit])), found=len(found), looked_at=hits.looked_at, since=first_day(reader.ports, days),
        unreadable=hits.unreadable, about=reader.about(), kept=len(hits.kept),
    )  # fmt: skip


class Hits(NamedTuple):
    """The tasks that a search found: those in the history (*past*), the latest first, and those that only the ledger has *kept*.

    *looked_at* counts the tasks of the history, *unreadable* its lines that have no place in the total order.
    """

    past: tuple[Timeline, ...]
    kept: tuple[Timeline, ...]
    looked_at: int
    unreadable: int


def search(reader: Reader, days: int, query: TaskQuery) -> Hits:
    """Return the tasks of the last *days*, today included, that *query* finds, and those under its key that the ledger keeps.

    Raises:
        OptionError: *days* is less than 1.
    """
    every, unreadable = timelines(reader.ports, days)
    kept = _kept(reader, query, {task.uuid for task in every})
    return Hits(tuple(filter(query.is_met, every)), tuple(filter(query.is_met, kept)), len(every), unreadable)


def _kept(reader: Reader, query: TaskQuery, known: AbstractSet[str]) -> list[Timeline]:
    """Return the tasks of the ledger under the key of *query*, without the ids *known*: their id, name, state, worker and error."""
    names = (name for name in reader.registry.tasks if not name.startswith("sedano."))
    ids = {task_id: name for task_id, name in query.ids(names).items() if task_id not in known}
    records = reader.ports.ledger.read(list(ids)) if ids else {}
    return [_of_record(record, ids[task_id]) for task_id, record in records.items()]


def row(task: Timeline) -> TaskRow:
    """Return a task of the history as a row."""
    fields = task.fields
    return TaskRow(
        id=task.uuid, name=str(fields["name"] or UNNAMED), state=str(task.state), at=max(task.times.values(), default=0.0),
        queue=str(fields["queue"] or "").removeprefix("commands:"), waited=task.wait_seconds, ran=task.run_seconds,
        worker=task.worker or "", error=str(fields["exception"] or ""),
    )  # fmt: skip


def _of_record(record: TaskRecord, name: str) -> Timeline:
    """Return the task of *record* with the fields that a search can ask for, as far as the ledger keeps them."""
    error = record.error.type_name if record.error is not None else None
    fields = {**dict.fromkeys(field for some in SUBJECTS.values() for field in some), "name": name, "exception": error}
    return Timeline(
        uuid=record.task_id, state=record.state, worker=record.owner or None, client=None, times={}, fields=fields, finished=None,
        wait_seconds=None, run_seconds=None, total_seconds=None,
    )  # fmt: skip
