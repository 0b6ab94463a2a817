"""Planted faults of collected calls: writes without their conditions, calls that nobody waits for, comes for or looks after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any

from sedano.aws.expressions import limits as writes
from sedano.engine.batch import Batch, Job, Stillborn
from sedano.engine.collection import Collecting, CollectionRequest
from sedano.engine.publisher.requeue import Requeued
from sedano.engine.worker.pipeline import Worker
from sedano.model import refusals, states
from sedano.model.collection import slice_of
from tests.simulation.campaign import Schedule, Stage
from tests.simulation.claims import Planted
from tests.simulation.collects import CollectWorld
from tests.simulation.weaken import changed, without

_SUPERSEDED = Stillborn(states.REVOKED, refusals.SUPERSEDED, "debounce", "it came twice", park=False)


class RunsAtOnce(Collecting):
    """Waits for no quiet."""

    def _quieten(self, asked: CollectionRequest) -> Job | Requeued:
        found = super()._quieten(asked)
        return found.job if isinstance(found, Requeued) else found


class NeverLooksAgain(Collecting):
    """Runs after the quiet whoever came meanwhile."""

    def _quieten(self, asked: CollectionRequest) -> Job | Requeued:
        found = super()._quieten(asked)
        return asked.job if isinstance(found, Job) and found.stillborn is not None else found


class EndsTheLatest(Collecting):
    """Takes every call for superseded that was received twice."""

    def quieten(self, asked: Sequence[CollectionRequest], batch: Batch) -> list[Job]:
        """End what came again."""
        going = super().quieten([one for one in asked if one.job.delivery.receives == 1], batch)
        return going + [one.job._replace(stillborn=_SUPERSEDED) for one in asked if one.job.delivery.receives > 1]


class PutsFirst(Collecting):
    """Puts calls into a basket before somebody is sent for it."""

    def _put(self, name: str, job: Job, entries: Sequence[str], most: int, seconds: float) -> None:
        now = self.ports.clock.now()
        self.ports.limits.put(f"{name}/{slice_of(now, seconds)[0]}.0", entries, most, now)
        super()._put(name, job, entries, most, seconds)


class SendsForNobody(Collecting):
    """Takes every basket for one that somebody was sent for."""

    def _send_for(self, basket: str, job: Job, seconds: float) -> None:
        """Send nobody."""


class AcknowledgesAnyway(Collecting):
    """Acknowledges calls that no basket took."""

    def _collect(self, name: str, some: Sequence[CollectionRequest], most: int, seconds: float, batch: Batch) -> None:
        kept = list(batch.given_back)
        super()._collect(name, some, most, seconds, batch)
        batch.given_back[:] = kept


class SendsUnderFreshIds(Collecting):
    """Sends for a basket under a name that is new each time, so that two who come for it both run it."""

    def _run(self, job: Job, calls: str | Sequence[str], name: str, delay: int) -> None:
        super()._run(job, calls, name, delay)
        super()._run(job, calls, f"{name}/{self.ports.entropy.uuid()}", delay)


class LosesWhatIsFull(Collecting):
    """Gives up a basket that is full."""

    def _put(self, name: str, job: Job, entries: Sequence[str], most: int, seconds: float) -> None:
        now = self.ports.clock.now()
        number, end = slice_of(now, seconds)
        self._send_for(f"{name}/{number}.0", job, end - now + 1.0)
        self.ports.limits.put(f"{name}/{number}.0", entries, most, now)


def _collecting(kind: type[Collecting]) -> Planted:
    def mutate(worker: Worker) -> None:
        limiting: Any = worker._admission.gate("limits")
        faulty = kind.__new__(kind)
        vars(faulty).update(vars(limiting.collecting))
        limiting.collecting = faulty

    return Planted(worker=mutate)


def stages() -> dict[str, Stage]:
    """Return the worlds of collected calls with each of the faults, by name."""
    code: Mapping[str, type[Collecting]] = {
        "runs at once": RunsAtOnce, "never looks again": NeverLooksAgain, "ends the latest": EndsTheLatest,
        "puts before it sends": PutsFirst, "sends for nobody": SendsForNobody, "acknowledges what no basket took": AcknowledgesAnyway,
        "sends under fresh ids": SendsUnderFreshIds, "loses what is full": LosesWhatIsFull,
    }  # fmt: skip
    planted = {name: _collecting(kind) for name, kind in code.items()} | {
        "LATEST of what is earlier": Planted(rewrite=without(writes.LATEST, "clk < :clk")),
        "LATEST without a condition": Planted(rewrite=without(writes.LATEST)),
        "PUT into what is shut": Planted(rewrite=without(writes.PUT, "attribute_not_exists(shut)")),
        "PUT into what is full": Planted(rewrite=without(writes.PUT, "num <= :left")),
        "PUT without a condition": Planted(rewrite=without(writes.PUT)),
        "SHUT that leaves it open": Planted(rewrite=changed(writes.SHUT, "SET shut = :shut, ", "SET ")),
    }
    return {f"collected: {name}": partial(_stage, fault) for name, fault in planted.items()}


def _stage(fault: Planted, seed: int, allowed: AbstractSet[int] | None) -> Schedule:
    return CollectWorld(seed, fault, allowed)
