"""Planted faults of limits: conditions that are left out, slots that are used twice or for ever, permits that nobody has to hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any

from sedano.aws.expressions import limits as writes
from sedano.engine.batch import Batch, Job
from sedano.engine.limits.concurrency import PermitRequest, Permitting
from sedano.engine.limits.rate import RateRequest
from sedano.engine.worker.pipeline import Worker
from sedano.model.limits.concurrency import Full, Permit
from sedano.model.limits.rate import Paces
from sedano.model.limits.task_limits import Slot
from tests.simulation.campaign import Schedule, Stage
from tests.simulation.claims import Planted
from tests.simulation.limits import BoardWorld, LimitWorld, PermitWorld, Watched
from tests.simulation.weaken import changed, without

FOR_EVER = 10**17


class KeepsSlotsForEver(Watched):
    """Lets a task start whenever it comes, once it had a slot."""

    def _use(self, slotted: Sequence[tuple[RateRequest, Slot]], going: list[Job], waiting: list[Any], batch: Batch) -> None:
        early = [(one, slot) for one, slot in slotted if slot.at > self._now()]
        super()._use(early, going, waiting, batch)
        going += [one.job for one, slot in slotted if (one, slot) not in early]

    def _slot(self, asked: RateRequest) -> Slot | None:
        found = super()._slot(asked)
        return found._replace(late=10) if found is not None else None


class ComesEarly(Watched):
    """Lets a task start as soon as it has a slot."""

    def _use(self, slotted: Sequence[tuple[RateRequest, Slot]], going: list[Job], waiting: list[Any], batch: Batch) -> None:
        going += [one.job for one, _ in slotted]

    def _slots(self, name: str, limits: Paces, count: int) -> list[int]:
        return [min(slot, self._now()) for slot in super()._slots(name, limits, count)]


class UsesSlotsAgain(Watched):
    """Lets a task start in the slot of an earlier delivery."""

    def admit(self, asked: Sequence[RateRequest], batch: Batch) -> list[Job]:
        """Take each delivery for the first."""
        first = [one._replace(job=one.job._replace(delivery=one.job.delivery._replace(receives=1))) for one in asked]
        return super().admit(first, batch)


class AsksEveryTime(Watched):
    """Takes a ticket at each receipt, so that who waits never comes to its turn."""

    def _slot(self, asked: RateRequest) -> Slot | None:
        return None


class BelievesItsMemory(Watched):
    """Takes the tickets of a line from what it knew, and asks nobody."""

    def _slots(self, name: str, limits: Paces, count: int) -> list[int]:
        return self._own_slots(name, limits, count)


class LetsEverybodyIn(Permitting):
    """Runs whatever comes."""

    def admit(self, wanted: PermitRequest, batch: Batch) -> list[Job]:
        """Ask for nothing."""
        return [job._replace(token=1) for job in wanted.jobs]


class GivesBackAtOnce(Permitting):
    """Gives permits back before the runs."""

    def admit(self, wanted: PermitRequest, batch: Batch) -> list[Job]:
        """Take and give back."""
        found = super().admit(wanted, batch)
        self.release(batch)
        return found


class CountsOneMore(Permitting):
    """Has one permit more than it should."""

    def admit(self, wanted: PermitRequest, batch: Batch) -> list[Job]:
        """Raise the limit."""
        return super().admit(wanted._replace(limit=wanted.limit + 1), batch)


class TakesForShort(Permitting):
    """Takes permits for a fifth of the time."""

    def _attempt(self, wanted: PermitRequest, job: Job, batch: Batch) -> Permit | Full | None:
        whole, now = batch.deadline, self.ports.clock.now()
        batch.deadline = now + (whole - now) / 5
        try:
            return super()._attempt(wanted, job, batch)
        finally:
            batch.deadline = whole


class TakesForLong(Permitting):
    """Takes permits for longer than it may live."""

    def _attempt(self, wanted: PermitRequest, job: Job, batch: Batch) -> Permit | Full | None:
        batch.deadline, whole = batch.deadline + 600, batch.deadline
        try:
            return super()._attempt(wanted, job, batch)
        finally:
            batch.deadline = whole


def _permitting(kind: type[Permitting]) -> Planted:
    def mutate(worker: Worker) -> None:
        inner: Any = worker._admission.gate("limits")
        inner.permitting = kind(inner.ports, inner.permitting.owner, inner.permitting.board_size)

    return Planted(worker=mutate)


def _rewritten(*rewrites: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> Planted:
    def rewrite(asked: Mapping[str, Any]) -> Mapping[str, Any]:
        for one in rewrites:
            asked = one(asked)
        return asked

    return Planted(rewrite=rewrite)


_LINES: Mapping[str, Planted] = {
    "BEGIN of a line that stands": Planted(rewrite=without(writes.BEGIN)),
    "BEGIN without the turns of all paces": Planted(rewrite=without(writes.BEGIN, "t0 <= :idle", "t1 <= :idle", "t2 <= :idle")),
    "BEGIN without t1 <= :idle": Planted(rewrite=without(writes.BEGIN, "t1 <= :idle")),
    "TURN of a line that changed": Planted(rewrite=without(writes.TURN)),
    "TURN without tkn = :before": Planted(rewrite=without(writes.TURN, "tkn = :before")),
    "TURN without nc = :seen": Planted(rewrite=without(writes.TURN, "nc = :seen")),
    "JOIN of a line that is behind": Planted(rewrite=without(writes.JOIN, "t0 > :x0", "t1 > :x1", "t2 > :x2")),
    "JOIN that moves no turn": Planted(rewrite=changed(writes.JOIN, "t0 = t0 + :d0, t1 = t1 + :d1", "t0 = t0, t1 = t1")),
}
_PACINGS: Mapping[str, type[Watched]] = {
    "keeps slots for ever": KeepsSlotsForEver, "comes early": ComesEarly, "uses slots again": UsesSlotsAgain,
    "asks every time": AsksEveryTime, "believes its memory": BelievesItsMemory,
}  # fmt: skip
_MINE = ("#n = :nc", "#k = :tok")
_PERMITS: Mapping[str, Planted] = {
    "TAKE_PERMIT of what is held": Planted(rewrite=without(writes.TAKE_PERMIT, "#e <= :lapsed")),
    "TAKE_PERMIT of what is kept for others": Planted(rewrite=without(writes.TAKE_PERMIT, "#w = :who")),
    "TAKE_PERMIT without a condition": Planted(rewrite=without(writes.TAKE_PERMIT)),
    "GIVE_BACK of anybody's": Planted(rewrite=without(writes.GIVE_BACK, *_MINE)),
    "CALL_NEXT with anybody's": _rewritten(without(writes.CALL_NEXT, *_MINE)),
    "lets everybody in": _permitting(LetsEverybodyIn),
    "gives permits back at once": _permitting(GivesBackAtOnce),
    "has one permit more": _permitting(CountsOneMore),
    "takes permits for too short": _permitting(TakesForShort),
    "takes permits for too long": _permitting(TakesForLong),
}
_BOARDS: Mapping[str, Planted] = {
    **{name: fault for name, fault in _PERMITS.items() if "CALL_NEXT" not in name},
    "KEEP with anybody's": _rewritten(without(writes.KEEP)),
}


def stages() -> dict[str, Stage]:
    """Return the worlds of limits with each of the faults, by name."""
    found: dict[str, Stage] = {f"limits: {name}": partial(_line, fault) for name, fault in _LINES.items()}
    found |= {f"limits: {name}": partial(_pacing, kind) for name, kind in _PACINGS.items()}
    found |= {f"permits: {name}": partial(_permit, fault) for name, fault in _PERMITS.items()}
    return found | {f"boards: {name}": partial(_board, fault) for name, fault in _BOARDS.items()}


def _line(fault: Planted, seed: int, allowed: AbstractSet[int] | None) -> Schedule:
    return LimitWorld(seed, fault, allowed)


def _pacing(kind: type[Watched], seed: int, allowed: AbstractSet[int] | None) -> Schedule:
    return LimitWorld(seed, allowed=allowed, pacing=kind)


def _permit(fault: Planted, seed: int, allowed: AbstractSet[int] | None) -> Schedule:
    return PermitWorld(seed, fault, allowed)


def _board(fault: Planted, seed: int, allowed: AbstractSet[int] | None) -> Schedule:
    return BoardWorld(seed, fault, allowed)
