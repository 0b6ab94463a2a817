"""The tasks of the event history, one by one, and the failed ones by task and error. One record, for a table and for `--json`.

Both read the history of whole days: one S3 GET for each object of the recorder.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sedano.model import states
from sedano.model.history.registers import Timeline
from sedano.ports import Ports
from sedano.views.cluster import UNNAMED, cluster

MOST = 1_000_000
FAILED = frozenset({states.FAILURE, states.POISON})


class TaskView(NamedTuple):
    """A task by its *id*: its *name*, its *state*, the time of its last event (epoch s), the *worker*, the *error* that it ended with."""

    id: str
    name: str
    state: str
    at: float
    worker: str
    error: str


class FailureGroup(NamedTuple):
    """A *number* of tasks of one name that failed with one kind of *error*, from *first* to *last* (epoch s); the id of an *example*."""

    task: str
    error: str
    number: int
    first: float
    last: float
    example: str


def tasks(ports: Ports, days: int, state: str | None = None, name: str | None = None) -> list[TaskView]:
    """Return the tasks of the last *days*, today included, the latest first; those in *state* or called *name* only."""
    found = map(_view, cluster(ports, MOST, days).latest)
    return [one for one in found if state in (None, one.state) and name in (None, one.name, one.name.rpartition(".")[2])]


def failures(ports: Ports, days: int) -> list[FailureGroup]:
    """Return the failed tasks of the last *days* by task and kind of error, the most frequent first."""
    groups: dict[tuple[str, str], list[TaskView]] = {}
    for one in tasks(ports, days):
        if one.state in FAILED:
            groups.setdefault((one.name, _kind(one.error)), []).append(one)
    found = [_failure(task, error, some) for (task, error), some in groups.items()]
    return sorted(found, key=lambda one: (-one.number, one.task, one.error))


def _failure(task: str, error: str, some: Sequence[TaskView]) -> FailureGroup:
    return FailureGroup(task=task, error=error, number=len(some), first=min(one.at for one in some), last=some[0].at, example=some[0].id)


def _view(task: Timeline) -> TaskView:
    at = max(task.times.values(), default=0.0)
    name, error = str(task.fields["name"] or UNNAMED), str(task.fields["exception"] or "")
    return TaskView(id=task.uuid, name=name, state=str(task.state), at=at, worker=task.worker or "", error=error)


def _kind(error: str) -> str:
    """Return the type of an *error* such as ``ValueError('7 is odd')``."""
    return error.partition("(")[0] or "?"
