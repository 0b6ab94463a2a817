"""The members of the cluster: four states, derived from a member's last heartbeat and from the claims that it still holds. Pure.

Theory. A worker that is scaled to zero sends nothing, exactly like a dead worker. Silence alone cannot distinguish them (Fischer, Lynch and
Paterson 1985), so silence alone does not determine a state here. A dead worker, unlike an idle one, leaves a claim that expired without a
record. A heartbeat therefore names the tasks that its invocation took, the ledger has the holder of each of them, and the state is derived
from both at every read; no counter is kept.

* LEFT: the worker reported it, as a process does that is stopped on purpose (`Worker.leave`). A Lambda environment cannot: it is frozen
  after its last invocation and ended without notice. Only functions with an extension get a signal, and an extension slows down every cold
  start. Such a worker becomes IDLE, and its record is deleted after three days.
* ACTIVE: its heartbeat is fresh, or it holds a claim that has not expired.
* LOST: its heartbeat is stale, and one of its claims has expired; or the worker that took over such a claim has recorded the loss.
* IDLE: its heartbeat is stale, and none of its tasks is in flight. It may have ended or be frozen; the next message starts it or another
  worker.

M1: an idle member is never LOST. A member is LOST only if a claim with its name has expired.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sedano.model import states
from sedano.model.ledger.records import TaskRecord

ACTIVE, IDLE, LOST, LEFT = "ACTIVE", "IDLE", "LOST", "LEFT"
ONLINE, HEARTBEAT, OFFLINE, WORKER_LOST = "worker-online", "worker-heartbeat", "worker-offline", "worker-lost"
"""The types of event lines about a worker."""
STALE_S = 150.0
"""A heartbeat older than this many seconds is stale: two and a half of a worker's default intervals."""
SKEW_S = 5.0
"""A claim counts as expired only this many seconds later, because the clocks of two machines differ."""


class MemberRecord(NamedTuple):
    """The last heartbeat of a worker: its full name, clock, state, messages in flight, and its time *seen* (epoch s).

    *tasks* are the ids of the claimed tasks among those messages, *answers* its latest answers to the inbox as one text
    (`sedano.model.cluster.inbox`), *report* its report (`sedano.model.cluster.worker_report`). `state_of` returns its current state.
    """

    name: str
    clock: int
    state: str
    in_flight: int
    seen: float
    tasks: tuple[str, ...] = ()
    answers: str = ""
    report: str = ""


class Member(NamedTuple):
    """The current state of a worker. *holds*: the ids of the tasks that it holds; *seen*: the time of its last heartbeat (epoch s);
    *report*: its report (`sedano.model.cluster.worker_report`).
    """

    name: str
    state: str
    clock: int
    seen: float
    holds: tuple[str, ...] = ()
    report: str = ""

    @property
    def alive(self) -> bool:
        """Whether it counts as a live worker: it is active, or idle until the next message starts it."""
        return self.state in (ACTIVE, IDLE)


class ActiveTask(NamedTuple):
    """A task that a worker runs: its *id* and *name*, the number of its *attempt*, and the times (epoch s) at which it was *claimed*, until
    which the claim holds (*expires*), and of the heartbeat that names it (*seen*).

    A heartbeat names the tasks that its worker had then, and the ledger says which of them run still. So a task that began after *seen* is
    missing, and *claimed* is the logical clock of the claim, which may be ahead of the wall clock by the skew between two machines.
    """

    id: str
    name: str
    attempt: int
    claimed: float
    expires: float
    seen: float


def active(member: MemberRecord, records: Mapping[str, TaskRecord]) -> list[ActiveTask]:
    """Return the tasks that *member* runs according to its heartbeat and to their *records*, the longest running first."""
    found = [
        ActiveTask(
            id=one.task_id, name=one.name, attempt=one.attempt, claimed=one.clock / 1_000_000, expires=one.expires, seen=member.seen
        )
        for one in held(member, records)
    ]  # fmt: skip
    return sorted(found, key=lambda one: (one.claimed, one.id))


def held(member: MemberRecord, records: Mapping[str, TaskRecord]) -> list[TaskRecord]:
    """Return the *records* that *member* claimed and has not ended."""
    found = (records.get(task_id) for task_id in member.tasks)
    return [r for r in found if r is not None and r.state == states.RUNNING and r.owner == member.name]


def state_of(member: MemberRecord, records: Mapping[str, TaskRecord], now: float, stale: float = STALE_S) -> str:
    """Return the state of *member* at *now* (epoch s); *records* are those of the tasks that its heartbeat names."""
    if member.state in (LEFT, LOST):
        return member.state
    if now - member.seen <= stale:
        return ACTIVE
    mine = held(member, records)
    if any(record.expires + SKEW_S < now for record in mine):
        return LOST
    return ACTIVE if mine else IDLE


def view(member: MemberRecord, records: Mapping[str, TaskRecord], now: float, stale: float = STALE_S) -> Member:
    """Return *member* with its state at *now* (epoch s)."""
    holds = tuple(record.task_id for record in held(member, records))
    return Member(
        name=member.name, state=state_of(member, records, now, stale), clock=member.clock, seen=member.seen, holds=holds,
        report=member.report,
    )  # fmt: skip
