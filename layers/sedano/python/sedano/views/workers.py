"""The workers of the last three days with their reports, and the hosts that serve each queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from sedano.app import Sedano
from sedano.model.cluster.members import Member
from sedano.model.cluster.worker_report import WorkerReport, report_of
from sedano.ports.absent import has
from sedano.views.reader import About, Reader


class WorkerRow(NamedTuple):
    """One worker: its *name*, its *state* in the cluster, when it was *seen*, the tasks that it *holds*, and its last *report*.

    The report is that of its last heartbeat: empty for a worker of an older version. Workers of one process have equal reports.
    """

    name: str
    state: str
    seen: float
    holds: tuple[str, ...]
    report: WorkerReport

    @property
    def hindrances(self) -> tuple[str, ...]:
        """The boot steps that have not started and the loops that are stuck, each in a few words."""
        steps = (f"boot step {one.name} {one.state}{': ' * bool(one.reason)}{one.reason}" for one in self.report.steps)
        return (*steps, *(f"loop {name} stuck" for name in self.report.stuck))


class QueueServers(NamedTuple):
    """One *queue*, and how many workers of each kind of host serve it; *served_by* is empty if no live worker reports it. *wished*: the
    number of concurrent bodies that `sedano scale` set; None: it is not scaled.
    """

    queue: str
    served_by: Mapping[str, int]
    wished: int | None = None


class WorkersView(NamedTuple):
    """The workers by name, and the *queues* of the app with the hosts that serve them.

    A silent worker is LOST only if a claim with its name has expired, else IDLE.
    """

    rows: tuple[WorkerRow, ...]
    queues: tuple[QueueServers, ...]
    about: About


class ActiveRow(NamedTuple):
    """A task that a *worker* runs: its id, its *name*, its *attempt*, when it was *claimed*, until when its claim holds (*expires*), and
    the time of the heartbeat that names it (*seen*); times in epoch s.
    """

    worker: str
    task: str
    name: str
    attempt: int
    claimed: float
    expires: float
    seen: float


class ActiveView(NamedTuple):
    """The tasks that run, by worker and the longest running first. Tasks that began since the heartbeat of their worker are missing."""

    rows: tuple[ActiveRow, ...]
    about: About


def active(app: Sedano) -> ActiveView:
    """Return the tasks that run: one query of the index of workers, and one read of the records that their heartbeats name."""
    reader = Reader(app)
    found = reader.control.inspect().active()
    return ActiveView(tuple(ActiveRow(worker, *one) for worker, some in sorted(found.items()) for one in some), reader.about())


def workers(app: Sedano) -> WorkersView:
    """Return the workers of *app*: one query of their index, the records of tasks that silent workers hold, and the control record."""
    reader = Reader(app)
    members = reader.control.members()
    wishes = reader.control.hello().wished if has(reader.ports.control) else {}
    return WorkersView(tuple(map(_row, members)), servers(reader.queues, members, wishes), reader.about())


def servers(queues: Iterable[str], members: Sequence[Member], wishes: Mapping[str, int]) -> tuple[QueueServers, ...]:
    """Return which kinds of hosts serve *queues*, according to the reports of live *members*, and the *wishes* by queue."""
    reports = [report_of(member.report) for member in members if member.alive]
    hosts = {queue: Counter(one.host for one in reports if queue in one.queues) for queue in queues}
    return tuple(QueueServers(queue, dict(sorted(found.items())), wishes.get(queue)) for queue, found in hosts.items())


def _row(member: Member) -> WorkerRow:
    return WorkerRow(member.name, member.state, member.seen, member.holds, report_of(member.report))
