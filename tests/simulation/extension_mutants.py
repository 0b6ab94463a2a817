"""Planted faults of extended claims: the conditional writes with a conjunct dropped, and workers that believe for too long."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from functools import partial

from sedano.aws.expressions import tasks
from sedano.engine.batch import Held
from sedano.engine.worker.claim_extension import Extending, Until
from sedano.engine.worker.pipeline import Worker
from sedano.model.ledger.records import TaskRecord
from tests.simulation.campaign import Schedule, Stage
from tests.simulation.claims import Planted
from tests.simulation.extensions import ExtensionWorld
from tests.simulation.weaken import each, without


class BelievesFromTheAnswer(Extending):
    """Counts from when the ledger answered."""

    def _lasts(self, key: str, mine: TaskRecord | None, until: Until) -> None:
        super()._lasts(key, mine, self._from_now(self.length or 0.0))


class MonotonicAlone(Extending):
    """Measures by a clock that rests while the machine sleeps."""

    def holds(self, held: Held) -> bool:
        """Ask the monotonic clock."""
        kept = self._kept.get(held.job.delivery.message_id)
        return kept is not None and self._ports.clock.monotonic() < kept.until.monotonic


class KeepsWhatIsLost(Extending):
    """Takes a refusal for an answer that was lost."""

    def _has_ended(self, key: str, mine: TaskRecord, found: TaskRecord | None) -> bool:
        self._lasts(key, mine, self._from_now(self.length or 0.0))
        return True


def _as(kind: type[Extending]) -> Planted:
    def mutate(worker: Worker) -> None:
        worker._extending.__class__ = kind
        worker._execution = worker._execution._replace(holds=worker._extending.holds)

    return Planted(worker=mutate)


def _begins_anyhow(worker: Worker) -> None:
    worker._execution = worker._execution._replace(holds=lambda _: True)


def stages() -> dict[str, Stage]:
    """Return the worlds of hosts with each of the faults, by name."""
    planted: Mapping[str, Planted] = {
        **{name: Planted(rewrite=rewrite) for name, rewrite in each("EXTEND", tasks.EXTEND)},
        "EXTEND without fence and nonce": Planted(rewrite=without(tasks.EXTEND, "nc = :nc", "att = :att")),
        "STEAL of what was extended": Planted(rewrite=without(tasks.STEAL, "exp = :lapsed")),
        "begins a body though its claim is over": Planted(worker=_begins_anyhow),
        "believes from the time of the answer": _as(BelievesFromTheAnswer),
        "measures by a clock that freezes": _as(MonotonicAlone),
        "takes a refused extension for granted": _as(KeepsWhatIsLost),
    }
    return {f"extensions: {name}": partial(_stage, fault) for name, fault in planted.items()}


def _stage(fault: Planted, seed: int, allowed: AbstractSet[int] | None) -> Schedule:
    return ExtensionWorld(seed, fault, allowed)
