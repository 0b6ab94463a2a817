"""The tasks of the event history, one by one: all of some days, or those that a search finds.

The history of whole days is read: one S3 GET for each object of the recorder. The view says how far back it looked.
"""

from __future__ import annotations

from typing import NamedTuple

from sedano.app import Sedano
from sedano.model.history.registers import Timeline
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

    *unreadable* counts event lines that have no place in the total order.
    """

    rows: tuple[TaskRow, ...]
    found: int
    looked_at: int
    since: str
    unreadable: int
    about: About


def tasks(app: Sedano, days: int, query: TaskQuery = EVERY, limit: int = MOST) -> TasksView:
    """Return the tasks of the last *days*, today included, that *query* finds, at most *limit* of them.

    Raises:
        OptionError: *days* is less than 1.
    """
    reader = Reader(app)
    every, unreadable = timelines(reader.ports, days)
    found = [task for task in every if query.is_met(task)]
    return TasksView(
        rows=tuple(map(row, found[:limit])), found=len(found), looked_at=len(every), since=first_day(reader.ports, days),
        unreadable=unreadable, about=reader.about(),
    )  # fmt: skip


def row(task: Timeline) -> TaskRow:
    """Return a task of the history as a row."""
    fields = task.fields
    return TaskRow(
        id=task.uuid, name=str(fields["name"] or UNNAMED), state=str(task.state), at=max(task.times.values(), default=0.0),
        queue=str(fields["queue"] or "").removeprefix("commands:"), waited=task.wait_seconds, ran=task.run_seconds,
        worker=task.worker or "", error=str(fields["exception"] or ""),
    )  # fmt: skip
