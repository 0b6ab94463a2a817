"""The cluster now: who works, what was worked on last, how many tasks are in each state, of each type, at each worker.

Members come from the control table and the claims that they hold; tasks from the history of events, so the counts are those of the Spark
job over the same objects. One record holds it all: a page, a table and `--json` cannot disagree.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sedano.engine.control import members
from sedano.model.cluster import Member
from sedano.model.live import State
from sedano.model.registers import Timeline
from sedano.ports import Ports

LATEST = 50


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


def cluster(ports: Ports, latest: int = LATEST) -> ClusterView:
    """Return the cluster as it is now, with its *latest* tasks."""
    state, unreadable = read_state(ports.events.read())
    tasks = state.tasks_by_time()
    names = Counter(str(task.fields["name"]) for task in tasks)
    workers = Counter(task.worker for task in tasks if task.worker is not None)
    found = tuple(members(ports))
    return ClusterView(ports.clock.now(), found, tuple(tasks[:latest]), dict(state.states()), dict(names), dict(workers), unreadable)


def read_state(history: Iterable[bytes]) -> tuple[State, int]:
    """Return what the event lines of *history* tell, and how many of them cannot be read."""
    state, unreadable = State(), 0
    for line in (line for blob in history for line in blob.splitlines()):
        try:
            state.event(json.loads(line))
        except ValueError:
            unreadable += 1
    return state, unreadable
