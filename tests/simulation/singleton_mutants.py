"""Planted faults of singletons: leases that are too short, of another name, given back too early or not looked at."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any

from sedano.aws.expressions import leases
from sedano.engine.batch import Batch, Job, Stillborn
from sedano.engine.leases import Busy, Leasing
from sedano.engine.singletons import Singletons
from sedano.engine.worker.pipeline import Worker
from sedano.model import states
from sedano.model.leases import SHORTEST_MS, Term
from tests.simulation.campaign import Schedule, Stage
from tests.simulation.claims import Planted
from tests.simulation.singletons import SingletonWorld
from tests.simulation.weaken import without


class LetsEverybodyIn(Singletons):
    """Runs whatever comes, whoever holds the lease."""

    def _settle(self, job: Job, found: Term | Busy, batch: Batch) -> Job | None:
        return super()._settle(job, found, batch) if isinstance(found, Term) else job._replace(token=found.record.token)


class GivesBackAtOnce(Singletons):
    """Gives the lease back before the run."""

    def _settle(self, job: Job, found: Term | Busy, batch: Batch) -> Job | None:
        settled = super()._settle(job, found, batch)
        self.release(batch)
        return settled


class NamesByTask(Singletons):
    """Has a lease for each task instead of each key."""

    def _name(self, job: Job) -> str:
        return f"{super()._name(job)}/{job.command.task_id}"


class DropsWhoWaits(Singletons):
    """Ends whoever would have to wait."""

    def _settle(self, job: Job, found: Term | Busy, batch: Batch) -> Job | None:
        if isinstance(found, Busy):
            return job._replace(stillborn=Stillborn(states.REVOKED, "", "singleton", "busy", park=False))
        return super()._settle(job, found, batch)


class DropsItself(Singletons):
    """Takes the lease of its own dead delivery for somebody else's."""

    def _owner(self, job: Job) -> str:
        return f"{job.command.task} {job.command.task_id}{' again' * (job.delivery.receives > 1)}"


class Short(Leasing):
    """Takes each lease for a fifth of the time."""

    def attempt(self, name: str, owner: str, duration: int, asker: str = "") -> Term | Busy:
        """Try once."""
        return super().attempt(name, owner, max(SHORTEST_MS, duration // 5), asker)


def _as(kind: type[Singletons]) -> Planted:
    def mutate(worker: Worker) -> None:
        inner: Any = worker._admission.gate("singletons")
        worker._admission._put("singletons", kind(inner.ports, inner.leasing, inner.arguments))

    return Planted(worker=mutate)


def _short(worker: Worker) -> None:
    inner: Any = worker._admission.gate("singletons")
    worker._admission._put("singletons", Singletons(inner.ports, Short(inner.ports), inner.arguments))


def stages() -> dict[str, Stage]:
    """Return the worlds of singletons with each of the faults, by name."""
    planted: Mapping[str, Planted] = {
        "lets everybody in": _as(LetsEverybodyIn),
        "gives the lease back at once": _as(GivesBackAtOnce),
        "has a lease for each task": _as(NamesByTask),
        "drops whoever should wait": _as(DropsWhoWaits),
        "is dropped because of itself": _as(DropsItself),
        "takes the lease for too short": Planted(worker=_short),
        "TAKE of what changed": Planted(rewrite=without(leases.TAKE, "tok = :seen", "rv = :version")),
        "RELEASE of anybody's": Planted(rewrite=without(leases.RELEASE, "nc = :nc", "tok = :tok")),
    }
    return {f"singletons: {name}": partial(_stage, fault) for name, fault in planted.items()}


def _stage(fault: Planted, seed: int, allowed: AbstractSet[int] | None) -> Schedule:
    return SingletonWorld(seed, fault, allowed)
