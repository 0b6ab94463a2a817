"""Planted faults of topics that run on the winner: run anywhere, succeeded too early, never, or by two at once."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any

from sedano.aws.expressions import elections
from sedano.engine.batch import Batch, Job
from sedano.engine.elections import Gossip
from sedano.engine.worker.pipeline import Worker
from tests.simulation.campaign import Schedule, Stage
from tests.simulation.claims import Planted
from tests.simulation.topics import TopicWorld
from tests.simulation.weaken import without


class RunsAnywhere(Gossip):
    """Runs what must run on the winner wherever it comes."""

    def admit(self, jobs: Sequence[Job], batch: Batch) -> Sequence[Job]:
        """Let everything in."""
        return jobs


class Off(Gossip):
    """A clock that is off by *seconds*."""

    seconds = 0.0

    def _now_ms(self) -> int:
        return super()._now_ms() + int(self.seconds * 1000)


class Impatient(Off):
    """Takes the winner's time for over too early."""

    seconds = 8.0


class Patient(Off):
    """Waits for a dead winner for ever."""

    seconds = -1_000_000.0


def _as(kind: type[Gossip]) -> Planted:
    def mutate(worker: Worker) -> None:
        inner: Any = worker._admission.gate("elections")
        worker._admission._put("elections", kind(inner.registry, inner.ports, inner.lamport, inner.name))

    return Planted(worker=mutate)


def stages() -> dict[str, Stage]:
    """Return the worlds of such topics with each of the faults, by name."""
    planted = {
        "runs wherever it comes": _as(RunsAnywhere),
        "succeeds a winner whose time is not over": _as(Impatient),
        "never succeeds a dead winner": _as(Patient),
        "PASS of what changed": Planted(rewrite=without(elections.PASS, "win = :seen", "term = :before", "#until = :lapsed")),
        "PASS without a condition": Planted(rewrite=without(elections.PASS)),
    }
    return {f"topics: {name}": partial(_stage, fault) for name, fault in planted.items()}


def _stage(fault: Planted, seed: int, allowed: AbstractSet[int] | None) -> Schedule:
    return TopicWorld(seed, fault, allowed)
