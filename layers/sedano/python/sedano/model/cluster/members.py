"""The members of the cluster: four states, read off a member's last heartbeat and off the claims that it still holds. Pure.

Theory. A worker that is scaled to zero says nothing, exactly like one that died: silence alone cannot distinguish them (Fischer, Lynch and
Paterson 1985), so silence alone decides nothing here. A dead worker, unlike an idle one, leaves a claim that ran out without a record. A
heartbeat therefore names the tasks that its invocation took, the ledger says who holds each of them, and both are derived anew at every
look; nothing is counted up and down.

* LEFT: it said so, as a process does that is stopped on purpose (`Worker.leave`). An environment of Lambda cannot: it is frozen after its
  last invocation and ended without a message, because only functions with an extension get a signal, and every cold start would pay for
  that. It becomes IDLE, and after three days it is forgotten.
* ACTIVE: its heartbeat is fresh, or it holds a claim that has not run out.
* LOST: its heartbeat is stale, and a claim of its own has run out; or the worker that took such a claim over has recorded it.
* IDLE: its heartbeat is stale and nothing of its own is in flight. It may be gone or frozen; its next message wakes it, or another.

M1: idle is never lost. A member is LOST only if a claim with its name has run out.
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
"""A heartbeat older than this is stale: two and a half of a worker's default intervals."""
SKEW_S = 5.0
"""A claim counts as run out only this much later, since the clocks of two machines differ."""


class MemberRecord(NamedTuple):
    """One worker of the cluster as it last said: its full name, clock, state, messages in flight, and when (epoch s).

    *tasks* are the ids of the claimed tasks among those messages, *answers* its latest answers to the inbox as one text
    (`sedano.model.cluster.inbox`), *report* what it says of itself (`sedano.model.cluster.worker_report`). Its state as it is now is
    `state_of`.
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
    """One worker as it is now: *holds* are the ids of the tasks that it holds, *seen* when it was last heard of (epoch s), *report* what it
    says of itself (`sedano.model.cluster.worker_report`)."""

    name: str
    state: str
    clock: int
    seen: float
    holds: tuple[str, ...] = ()
    report: str = ""

    @property
    def alive(self) -> bool:
        """Whether it counts as a live worker: active, or idle and woken by its next message."""
        return self.state in (ACTIVE, IDLE)


def held(member: MemberRecord, records: Mapping[str, TaskRecord]) -> list[TaskRecord]:
    """Return those of *records* that *member* claimed and has not ended."""
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
    """Return *member* as it is at *now*."""
    holds = tuple(record.task_id for record in held(member, records))
    return Member(
        name=member.name, state=state_of(member, records, now, stale), clock=member.clock, seen=member.seen, holds=holds,
        report=member.report,
    )  # fmt: skip
