"""Rate limits: each arriving task takes a ticket with its own slot. A task that is early is requeued for its slot.

One write takes the tickets of a whole batch. A slot is kept for two seconds: a later one takes another ticket, so that delayed tasks do not
start all at once; that slot is kept for longer, so that no task waits forever. A task that is tried again, or whose worker died, takes
a ticket of its own for each run. A ticket without a run is a slot that no task uses: fewer starts than declared, never more.

A slot counts only with the mark of one of the stage's keys over it, the message and the line (`sedano.ports.seals`): a sender of a message
cannot give it a slot. If the mark is missing or wrong, the slot is ignored and the task takes a new ticket. A worker without keys gives no
future slots: it takes only tickets whose slots are now, and requeues the other tasks until the next slot is expected.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from sedano.engine.batch import Batch, Job
from sedano.engine.publisher.requeue import Requeued, resend
from sedano.errors import SedanoError, Unavailable
from sedano.model.limits import rate as rates
from sedano.model.limits.rate import Line, Paces
from sedano.model.limits.task_limits import SLOT, Slot, TaskLimits, kept, slot_of, slot_text
from sedano.model.messages.timestamps import LAST_SECOND
from sedano.ports import Ports

TRIES = 6
"""How often one batch follows a line that changes under it."""
MOST_LINES = 1_000
"""Lines remembered; the ones used least recently are forgotten first."""


class RateRequest(NamedTuple):
    """A limited job, its limits and its *key*."""

    job: Job
    limits: TaskLimits
    key: str

    @property
    def name(self) -> str:
        """The name of its line."""
        return rates.line_name(self.job.task.name, self.limits.paces, self.key)


class Pacing:
    """Gives slots. One per worker. It keeps the lines of this worker, and the last known state of the shared lines."""

    def __init__(self, ports: Ports) -> None:
        """Start without lines."""
        self.ports = ports
        self._known: OrderedDict[str, Line] = OrderedDict()
        self._own: OrderedDict[str, Line] = OrderedDict()

    def admit(self, asked: Sequence[RateRequest], batch: Batch) -> list[Job]:
        """Return the jobs whose slot is now; requeue the others, each for its slot."""
        now = self._now()
        going: list[Job] = []
        waiting: list[Requeued] = []
        lines: dict[str, list[tuple[RateRequest, int]]] = {}
        slotted: list[tuple[RateRequest, Slot]] = []
        for one in asked:
            slot = self._slot(one)
            if slot is None or now > kept(slot) or (now >= slot.at and one.job.delivery.receives > 1):
                lines.setdefault(one.name, []).append((one, slot.late + 1 if slot is not None else 0))
            else:
                slotted.append((one, slot))
        for name, some in lines.items():
            self._ticket(name, some, going, waiting, batch)
        self._use(slotted, going, waiting, batch)
        resend(self.ports, waiting, batch)
        return going

    def _use(self, slotted: Sequence[tuple[RateRequest, Slot]], going: list[Job], waiting: list[Requeued], batch: Batch) -> None:
        """Decide about jobs that have a slot; done last, because taking tickets may take a while."""
        now = self._now()
        for one, slot in slotted:
            if slot.at > now:
                waiting.append(self._later(one, slot))
            elif now <= kept(slot):
                going.append(one.job)
            else:
                batch.give_back(one.job.delivery)

    def _slot(self, asked: RateRequest) -> Slot | None:
        """Return the slot of the message, if it was given under the current limits."""
        if asked.limits.per_worker:
            return None
        given = asked.job.delivery.attributes.get(SLOT, "")
        slot = slot_of(self.ports.seals.detached(SLOT, given, *_bound(asked)))
        return slot if slot is not None and slot.rule == rates.rule_text(asked.limits.paces) else None

    def _ticket(self, name: str, some: list[tuple[RateRequest, int]], going: list[Job], waiting: list[Requeued], batch: Batch) -> None:
        limits = some[0][0].limits
        try:
            found = self._asked(limits)(name, limits.paces, len(some))
        except SedanoError as away:
            for one, _ in some:
                self.ports.telemetry.log("warning", "rate limit not answered", task_id=one.job.command.task_id, error=str(away))
                batch.defer_job(one.job, away)
            return
        given = [(one, Slot(at, late, rates.rule_text(limits.paces))) for (one, late), at in zip(some, found, strict=True)]
        self._use(given, going, waiting, batch)

    def _asked(self, limits: TaskLimits) -> Callable[[str, Paces, int], list[int]]:
        """Return what gives slots under *limits*."""
        if limits.per_worker:
            return self._own_slots
        return self._slots if self.ports.seals.ready() else self._slots_now

    def _slots(self, name: str, limits: Paces, count: int) -> list[int]:
        """Return the slots of *count* tickets of the line *name*."""
        seen = self._known.get(name)
        for _ in range(TRIES):
            now, nonce = self._now(), self.ports.entropy.nonce()
            if seen is None or rates.idle(seen, limits, now):
                answer, begun = self.ports.limits.begin(name, rates.started(limits, count, now, nonce), limits), True
            elif rates.ahead(seen, limits, now):
                answer, begun = self.ports.limits.join(name, limits, count, now), False
            else:
                answer, begun = self.ports.limits.turn(name, rates.restarted(seen, limits, count, now, nonce), seen), True
            seen = answer.line
            if answer.done and seen is not None:
                _remember(self._known, name, seen)
                return rates.slots(seen, limits, 0 if begun else seen.taken - count, count)
        raise Unavailable(f"rate limit {name}: its line changed during each of {TRIES} attempts")

    def _own_slots(self, name: str, limits: Paces, count: int) -> list[int]:
        """Return the slots of *count* tickets of this worker's own line; future slots stay free, because the next task may arrive at
        another worker."""
        now, line = self._now(), self._own.get(name)
        if line is None:
            line = rates.started(limits, 0, now, "")
        elif not rates.ahead(line, limits, now):
            line = rates.restarted(line, limits, 0, now, "")
        found = rates.slots(line, limits, line.taken, count)
        _remember(self._own, name, rates.joined(line, limits, sum(at <= now for at in found)))
        return found

    def _slots_now(self, name: str, limits: Paces, count: int) -> list[int]:
        """Return the slots of *count* tickets, and take only those whose slot is now, because no key could prove the others."""
        now, line = self._now(), self.ports.limits.line(name, limits)
        line = rates.started(limits, 0, now, "") if line is None else rates.restarted(line, limits, 0, now, "")
        found = rates.slots(line, limits, line.taken, count)
        due = sum(at <= now for at in found)
        return [*(self._slots(name, limits, due) if due else ()), *found[due:]]

    def _later(self, asked: RateRequest, slot: Slot) -> Requeued:
        at = min(slot.at / rates.SECOND, LAST_SECOND)
        moment = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
        given = "" if asked.limits.per_worker else self.ports.seals.attached(SLOT, slot_text(slot), *_bound(asked))
        return Requeued(asked.job, at, {SLOT: given} if given else {}, f"rate limit: slot at {moment}")

    def _now(self) -> int:
        return int(self.ports.clock.now() * rates.SECOND)


def _remember(lines: OrderedDict[str, Line], name: str, line: Line) -> None:
    lines[name] = line
    lines.move_to_end(name)
    if len(lines) > MOST_LINES:
        lines.popitem(last=False)


def _bound(asked: RateRequest) -> tuple[str, str, str, str]:
    """Return the identity of a slot: the queue, the message and its task, and the line with its rule."""
    command = asked.job.command
    return asked.job.delivery.queue, command.id, command.task_id, asked.name
