"""Spending limits: each minute, the cost of the UTC day is compared with the limits of the app, and pauses what has reached its limit.

    read the day's roll-ups → judge each limit (`sedano.model.spending`, pure) → pause or resume → keep the mark

The cost is counted from the roll-ups that the recorder writes anyway (`sedano.model.history.rollups`), so a task costs no further write. A
round reads the roll-ups of the last minutes; the first round of a process and of a day, and one an hour, read the whole day, because a
recorder that was away writes roll-ups of earlier minutes.

Two rounds at once, or one that ends anywhere, are safe: both write the same pause, and the one that then keeps the mark reports it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from sedano.engine.cluster.control import Controlling, keep_cause
from sedano.errors import SedanoError
from sedano.model.cluster.control_record import ControlRecord, with_pauses
from sedano.model.history.rollups import MINUTE_S, Sums, read
from sedano.model.memos import Memo
from sedano.model.messages.lamport import LamportClock
from sedano.model.pauses import PauseCause
from sedano.model.spending import (
    BY,
    DAY_S,
    SpendingLimit,
    SpendingVerdict,
    day_of,
    dollars,
    is_alone,
    judged,
    mark_of,
    memo_of,
    pauses_of,
    reason_of,
    with_own,
)
from sedano.ports import Ports

AGAIN_MINUTES = 15
"""How many minutes before the last read are read again: roll-ups arrive up to this much later than others of their minute."""
WHOLE_S = 3_600.0
"""How often (s) the whole day is read."""
AHEAD_MINUTES = 5
"""How far ahead of this clock the clock of a worker may be."""


class SpendingRound(NamedTuple):
    """The result of one round: the numbers of limits that it *warned* about, that it *paused* for, and that it *resumed* for."""

    warned: int = 0
    paused: int = 0
    resumed: int = 0


class DaySpending:
    """The nanodollars of the current UTC day, by tenant; an empty tenant is the whole app."""

    def __init__(self, ports: Ports) -> None:
        """Count from the roll-ups of *ports*; nothing is read yet."""
        self._ports = ports
        self._day, self._whole_at, self._until = -1, 0.0, 0
        self._seen: set[str] = set()
        self._spent: dict[str, int] = {}

    def read(self) -> Mapping[str, int] | None:
        """Return what was spent until now; None: the deployment has no index of roll-ups, because an earlier version deployed it.

        Raises:
            Unavailable: the store did not answer; nothing was counted.
        """
        now = self._ports.clock.now()
        day, until = day_of(now), int(now) // MINUTE_S + AHEAD_MINUTES
        is_whole = day != self._day or not 0 <= now - self._whole_at < WHOLE_S
        begin, end = day // MINUTE_S, (day + DAY_S) // MINUTE_S - 1
        found = self._ports.rollups.read(begin if is_whole else max(begin, self._until - AGAIN_MINUTES), min(until, end))
        if found is None:
            return None
        if is_whole:
            self._day, self._whole_at, self._seen, self._spent = day, now, set(), {}
        self._until = until
        new = [one for one in found if one.name not in self._seen]
        self._seen.update(one.name for one in new)
        add(self._spent, (sums for one in new if (sums := read(one.text)) is not None))
        return self._spent


def add(spent: dict[str, int], some: Iterable[Sums]) -> None:
    """Add *some* sums to the nanodollars *spent* by tenant; an empty tenant is the whole app."""
    for sums in some:
        spent[""] = spent.get("", 0) + sum(sums.spent.values())
        for place, share in sums.shares.items():
            if place.tenant:
                spent[place.tenant] = spent.get(place.tenant, 0) + share.nanodollars


class SpendingControl:
    """Looks after the spending limits of one app. One per process that controls the cluster."""

    def __init__(self, ports: Ports, lamport: LamportClock, queues: tuple[str, ...], limits: Mapping[str, int]) -> None:
        """Look after *limits* (nanodollars by tenant); the one of the whole app pauses *queues*."""
        self._ports, self._queues = ports, queues
        self._limits = [SpendingLimit(tenant, nanos) for tenant, nanos in sorted(limits.items())]
        self._lamport, self._day = lamport, DaySpending(ports)

    def round(self) -> SpendingRound:
        """Look at each limit once. A store that does not answer is logged, and the next round looks again."""
        if not self._limits:
            return SpendingRound()
        try:
            spent = self._day.read()
            if spent is None:
                words = "spending is not counted: the table has no index of roll-ups; deploy the stage again"
                self._ports.telemetry.log("warning", words)
                return SpendingRound()
            verdicts = [self._decided(limit, spent.get(limit.tenant, 0)) for limit in self._limits]
        except SedanoError as error:
            self._ports.telemetry.log("warning", "spending limits not checked; the next round checks them", error=str(error))
            return SpendingRound()
        done = [one for one in verdicts if one.changed]
        paused, resumed = sum(one.pause for one in done), sum(one.resume for one in done)
        return SpendingRound(warned=sum(one.mark.level > 0 for one in done) - paused, paused=paused, resumed=resumed)

    def _decided(self, limit: SpendingLimit, spent: int) -> SpendingVerdict:
        """Judge *limit* and act; a verdict whose mark another process kept first is returned without a change."""
        now, name = self._ports.clock.now(), memo_of(limit)
        seen = self._ports.memos.read([name]).get(name, Memo(name))
        verdict = judged(limit, spent, mark_of(seen.text), now)
        if not verdict.changed:
            return verdict
        if verdict.pause:
            self._pause(limit, spent, now)
        if verdict.resume:
            self._resume(limit, now)
        if not self._ports.memos.change(Memo(name, verdict.mark.text, self._ports.entropy.nonce()), seen).done:
            return verdict._replace(changed=False)
        self._report(limit, verdict)
        return verdict

    def _pause(self, limit: SpendingLimit, spent: int, now: float) -> None:
        """Pause what *limit* is about; the cause of another pause of the same target remains."""
        own = pauses_of(limit, self._queues, now)
        record = self._change(lambda paused: with_own(paused, own, now))
        for one in own:
            if is_alone(record.paused, one):
                keep_cause(self._ports, one.kind, one.name, PauseCause(BY, reason_of(limit, spent)))

    def _resume(self, limit: SpendingLimit, now: float) -> None:
        """End exactly the pauses that a spending limit made."""
        own = pauses_of(limit, self._queues, now)
        self._change(lambda paused: paused - {one.text for one in own})

    def _change(self, change: Callable[[frozenset[str]], frozenset[str]]) -> ControlRecord:
        controlling = Controlling(self._ports, self._lamport)
        return controlling.change(lambda record, clock, nonce: with_pauses(record, change(record.paused), clock, nonce))

    def _report(self, limit: SpendingLimit, verdict: SpendingVerdict) -> None:
        telemetry, level = self._ports.telemetry, verdict.mark.level
        if level:
            telemetry.count("SpendingReached" if verdict.pause else "SpendingNear")
        words = "spending reached its limit; tasks are paused until the end of the UTC day" if verdict.pause else "spending"
        told = {"spent": dollars(verdict.mark.spent), "limit": dollars(limit.nanodollars), "tenant": limit.tenant, "percent": level}
        telemetry.log("warning" if level else "info", words, **told)
