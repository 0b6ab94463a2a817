"""The failed tasks of the event history by cause: the task, the kind of error, and the innermost frame of the application.

The history has no tracebacks. So the frame is that of one example of each group, from its record: one BatchGetItem for a hundred groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sedano.app import Sedano
from sedano.model import states
from sedano.model.ledger import tracebacks
from sedano.model.ledger.records import TaskRecord
from sedano.views.cluster import first_day, timelines
from sedano.views.reader import About, Reader
from sedano.views.tasks import TaskRow, row

FAILED = frozenset({states.FAILURE, states.POISON})
MOST_GROUPS = 100
"""For how many groups, the most frequent first, the record of an example is read."""


class FailureGroup(NamedTuple):
    """A *number* of tasks of one name that failed with one kind of *error*, from *first* to *last* (epoch s); the id of an *example*.

    *where*: the innermost frame of the application in the example's traceback; empty where its record has none.
    """

    task: str
    error: str
    number: int
    first: float
    last: float
    example: str
    where: str = ""


class FailuresView(NamedTuple):
    """The *groups*, the most frequent first, of *failed* tasks in all since the day *since*."""

    groups: tuple[FailureGroup, ...]
    failed: int
    since: str
    unreadable: int
    about: About


def failures(app: Sedano, days: int) -> FailuresView:
    """Return the failed tasks of the last *days*, today included, by cause.

    Raises:
        OptionError: *days* is less than 1.
    """
    reader = Reader(app)
    every, unreadable = timelines(reader.ports, days)
    groups = grouped([row(task) for task in every if task.state in FAILED])
    examples = [one.example for one in groups[:MOST_GROUPS]]
    records = reader.ports.ledger.read(examples) if examples else {}
    return FailuresView(
        groups=tuple(one._replace(where=_where(records.get(one.example))) for one in groups), failed=sum(one.number for one in groups),
        since=first_day(reader.ports, days), unreadable=unreadable, about=reader.about(),
    )  # fmt: skip


def grouped(failed: Sequence[TaskRow]) -> list[FailureGroup]:
    """Return *failed* tasks, the latest first, by task and kind of error, the most frequent group first."""
    groups: dict[tuple[str, str], list[TaskRow]] = {}
    for one in failed:
        groups.setdefault((one.name, _kind(one.error)), []).append(one)
    found = [_failure(task, error, some) for (task, error), some in groups.items()]
    return sorted(found, key=lambda one: (-one.number, one.task, one.error))


def _failure(task: str, error: str, some: Sequence[TaskRow]) -> FailureGroup:
    return FailureGroup(task=task, error=error, number=len(some), first=min(one.at for one in some), last=some[0].at, example=some[0].id)


def _kind(error: str) -> str:
    """Return the type of an *error* such as ``ValueError('7 is odd')``."""
    return error.partition("(")[0] or "?"


def _where(record: TaskRecord | None) -> str:
    return tracebacks.origin(record.error.traceback) if record is not None and record.error is not None else ""
