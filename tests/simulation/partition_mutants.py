"""Planted faults of partitions: rules that share unfairly, and holders that believe in what they gave away."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from functools import partial

from sedano.aws.expressions import leases
from sedano.engine.leases import Leasing
from sedano.model import leases as lease
from sedano.model.leases import LeaseRecord, Sight, Term
from sedano.model.partitions import Plan, plan
from tests.simulation.campaign import Schedule, Stage
from tests.simulation.partitions import PartitionWorld, PlantedShare
from tests.simulation.weaken import without

Taken = Mapping[int, LeaseRecord]


class BelievesInWhatItGave(Leasing):
    """Believes until its time is over, whatever it gave back."""

    def believes(self, term: Term) -> bool:
        """Ask the clocks alone."""
        return lease.believes(term, self.moment())


class TakesWhatIsHeld(Leasing):
    """Takes every lease for free."""

    def free(self, sight: Sight, asker: str) -> bool:
        """Look at nothing."""
        return sight.record is None or sight.record.owner != asker


def _tight(me: str, mine: Collection[int], taken: Taken, free: Collection[int], idle: Collection[int]) -> Plan:
    step = plan(me, mine, taken, free, idle)
    return Plan([], step.take, step.want)


def _modest(me: str, mine: Collection[int], taken: Taken, free: Collection[int], idle: Collection[int]) -> Plan:
    step = plan(me, mine, taken, free, idle)
    return Plan(step.give, step.take, None)


def _forgetful(me: str, mine: Collection[int], taken: Taken, free: Collection[int], idle: Collection[int]) -> Plan:
    step = plan(me, mine, taken, free, idle)
    return Plan(step.give, step.take[:0] if mine else step.take, step.want)


def _counts_the_dead(me: str, mine: Collection[int], taken: Taken, free: Collection[int], idle: Collection[int]) -> Plan:
    return plan(me, mine, taken, free)


def stages() -> dict[str, Stage]:
    """Return the worlds of partitions with each of the faults, by name."""
    planted = {
        "leaves a share to whoever asked and died": PlantedShare(plan=_counts_the_dead),
        "never gives away": PlantedShare(plan=_tight),
        "never asks": PlantedShare(plan=_modest),
        "takes nothing more once it holds something": PlantedShare(plan=_forgetful),
        "believes in what it gave away": PlantedShare(leasing=lambda leasing: BelievesInWhatItGave(leasing.ports)),
        "takes what others hold": PlantedShare(leasing=lambda leasing: TakesWhatIsHeld(leasing.ports)),
        "TAKE of what changed": PlantedShare(rewrite=without(leases.TAKE, "tok = :seen", "rv = :version")),
        "RELEASE of anybody's": PlantedShare(rewrite=without(leases.RELEASE, "nc = :nc", "tok = :tok")),
    }
    return {f"partitions: {name}": partial(_stage, fault) for name, fault in planted.items()}


def _stage(fault: PlantedShare, seed: int, allowed: AbstractSet[int] | None) -> Schedule:
    return PartitionWorld(seed, fault, allowed)
