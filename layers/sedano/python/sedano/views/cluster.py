"""The cluster now: its members, its latest tasks, and the number of tasks in each state, of each type, at each worker.

Members come from the control table and from the claims that they hold. Tasks come from the last days of the history, with the state
names of the ledger (`sedano.model.history.live_tasks`). A page, a table and `--json` show the same record, so they cannot disagree.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from sedano.engine.cluster.control import members
from sedano.errors import OptionError
from sedano.model import states
from sedano.model.cluster.members import Member
from sedano.model.history.live_tasks import Watched
from sedano.model.history.registers import Timeline
from sedano.ports import Ports

LATEST = 50
MOST_HELD = 1_000
"""The most tasks held back by workers that are looked up in the ledger: a BatchGetItem for each hundred."""
DAYS = 2
"""The days of the history that are read: today and yesterday, because a task that runs now may have begun yesterday."""
UNNAMED = "?"
"""The type of a task whose name is not in any of its events."""
_DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class ClusterView:
    """The cluster at *at* (epoch s): *members* by name, the *latest* tasks first, numbers of tasks by state, by type and by worker.

    *unreadable* counts event lines that have no place in the total order.
    """

    at: float
    members: tuple[Member, ...]
    latest: tuple[Timeline, ...]
    by_state: Mapping[str, int]
    by_type: Mapping[str, int]
    by_worker: Mapping[str, int]
    unreadable: int = 0


def cluster(ports: Ports, latest: int = LATEST, days: int = DAYS) -> ClusterView:
    """Return the cluster as it is now, with its *latest* tasks.

    Args:
        ports: the ports to read from.
        latest: how many tasks are listed one by one.
        days: how many days of the history are counted, today's included (UTC): one S3 GET for each object.

    Raises:
        OptionError: *days* is less than 1.
    """
    tasks, unreadable = timelines(ports, days)
    by_state = Counter(task.state for task in tasks)
    names = Counter(str(task.fields["name"] or UNNAMED) for task in tasks)
    workers = Counter(task.worker for task in tasks if task.worker is not None)
    found = tuple(members(ports))
    return ClusterView(
        at=ports.clock.now(), members=found, latest=tuple(tasks[:latest]), by_state=dict(by_state), by_type=dict(names),
        by_worker=dict(workers), unreadable=unreadable,
    )  # fmt: skip


def timelines(ports: Ports, days: int) -> tuple[list[Timeline], int]:
    """Return the tasks of the history of the last *days*, the latest first, and the number of event lines that cannot be read.

    Raises:
        OptionError: *days* is less than 1.
    """
    state, unreadable = read_state(ports.events.read(first_day(ports, days)))
    return _asked_for(ports, state.tasks_by_time()), unreadable


def first_day(ports: Ports, days: int) -> str:
    """Return the first of the last *days* (YYYY-MM-DD, UTC), today included.

    Raises:
        OptionError: *days* is less than 1.
    """
    if days < 1:
        raise OptionError(f"days: {days} is less than 1; write 1 to read the history of today")
    return datetime.fromtimestamp(ports.clock.now() - (days - 1) * _DAY_S, UTC).strftime("%Y-%m-%d")


def _asked_for(ports: Ports, tasks: Sequence[Timeline]) -> list[Timeline]:
    """Return *tasks*; those that were held back have their final state from the ledger, because a revocation by id has no event."""
    held = [task.uuid for task in tasks if "held" in task.times][:MOST_HELD]
    records = ports.ledger.read(held) if held else {}
    ended = {uuid: record.state for uuid, record in records.items() if record.state in states.TERMINAL}
    return [replace(task, state=ended[task.uuid]) if task.uuid in ended else task for task in tasks]


def read_state(history: Iterable[bytes]) -> tuple[Watched, int]:
    """Return the contents of the event lines of *history*, and the number of unreadable lines."""
    state, unreadable = Watched(), 0
    for line in (line for blob in history for line in blob.splitlines()):
        try:
            state.event(json.loads(line))
        except (ValueError, RecursionError):
            unreadable += 1
    return state, unreadable
