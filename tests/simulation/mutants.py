"""Planted faults: every conjunct of every conditional write dropped in turn, and the faults of known implementations.

A referee that lets one of them pass proves nothing. Each is killed within a block of schedules, or is equivalent, for
the reason that stands in `EQUIVALENT`: another conjunct of the same write forbids the same thing (defence in depth), so
both are dropped together as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any

from sedano.aws.expressions import elections, leases, tasks
from sedano.engine.leases import Busy, Leasing
from sedano.engine.worker.pipeline import Worker
from sedano.model.leases import GUARD_MS, Leased, LeaseRecord, Term
from sedano.model.store_clock import Interval
from sedano.ports import Ports
from tests.simulation import (
    circuit_mutants,
    collect_mutants,
    controller_mutants,
    effect_mutants,
    extension_mutants,
    flow_mutants,
    group_mutants,
    limit_mutants,
    member_mutants,
    partition_mutants,
    revocation_mutants,
    schedule_mutants,
    singleton_mutants,
    topic_mutants,
)
from tests.simulation.campaign import Schedule, Stage
from tests.simulation.claims import ClaimWorld, Planted
from tests.simulation.elections import ElectionWorld, PausedElectionWorld
from tests.simulation.leases import LeaseWorld, PlantedLease
from tests.simulation.process import Process
from tests.simulation.revocation_mutants import MARK
from tests.simulation.weaken import changed, each, without
from tests.stories import mutants as stories


def claim(planted: Planted) -> Stage:
    """Return the worlds of tasks with this fault in them."""

    def stage(seed: int, allowed: AbstractSet[int] | None) -> Schedule:
        return ClaimWorld(seed, planted=planted, allowed=allowed)

    return stage


def election(planted: Planted, world: type[ElectionWorld] = ElectionWorld) -> Stage:
    """Return the worlds of an election with this fault in them."""

    def stage(seed: int, allowed: AbstractSet[int] | None) -> Schedule:
        return world(seed, planted, allowed)

    return stage


def lease(planted: PlantedLease) -> Stage:
    """Return the worlds of a lease with this fault in them."""

    def stage(seed: int, allowed: AbstractSet[int] | None) -> Schedule:
        return LeaseWorld(seed, planted, allowed)

    return stage


@dataclass(frozen=True, slots=True)
class Shifted:
    """A clock that is *seconds* ahead of the process's own: for a rule that does not wait long enough."""

    inner: Any
    seconds: float

    def now(self) -> float:
        """Return a moment that has not come yet."""
        return float(self.inner.now() + self.seconds)

    def __getattr__(self, name: str) -> Any:
        """Return the clock's own operation."""
        return getattr(self.inner, name)


def _impatient(worker: Worker) -> None:
    ports = worker._claiming.ports
    worker._claiming = worker._claiming._replace(ports=replace(ports, clock=Shifted(ports.clock, 5.0)))


class Delegating:
    """Stands for leases; what a mutant does not change is passed on."""

    def __init__(self, inner: Any) -> None:
        """Stand for *inner*."""
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        """Return the leases' own operation."""
        return getattr(self.inner, name)


class Ahead(Delegating):
    """Takes the store's clock for later than it is when it asks whether a lease has ended."""

    def time(self) -> Interval | None:
        """Return an interval that has not come yet."""
        found = self.inner.time()
        return Interval(found.lo + 4_000, found.hi) if found is not None else None


class Forgetful(Delegating):
    """Does not recognise its own write when the answer to it was lost."""

    def take(self, grant: LeaseRecord, seen: LeaseRecord | None) -> Leased:
        """Take a refusal for a refusal."""
        before = self.inner.read([grant.name]).get(grant.name)
        answer: Leased = self.inner.take(grant, seen)
        return answer._replace(done=answer.done and (before is None or before.nonce != grant.nonce))


class Counter(Delegating):
    """Counts tokens from one, as if no item were ever deleted."""

    def take(self, grant: LeaseRecord, seen: LeaseRecord | None) -> Leased:
        """Take with the next number."""
        answer: Leased = self.inner.take(grant._replace(token=seen.token + 1 if seen else 1), seen)
        return answer


def _with(kind: type[Delegating]) -> PlantedLease:
    return PlantedLease(leasing=lambda leasing: Leasing(replace(leasing.ports, leases=kind(leasing.ports.leases))))


class StampsAnswers(Leasing):
    """Believes from the time of the answer (KCL, python_dynamodb_lock)."""

    def attempt(self, name: str, owner: str, duration: int, asker: str = "") -> Term | Busy:
        """Try once."""
        found = super().attempt(name, owner, duration, asker)
        return found._replace(since=self.moment()) if isinstance(found, Term) else found

    def renew(self, term: Term) -> Term | None:
        """Renew."""
        found = super().renew(term)
        return found._replace(since=self.moment()) if found is not None else None


class WithoutGuard(Leasing):
    """Believes to the last moment and beyond, by the clocks' difference."""

    def attempt(self, name: str, owner: str, duration: int, asker: str = "") -> Term | Busy:
        """Try once."""
        found = super().attempt(name, owner, duration, asker)
        return found._replace(duration=found.duration + 4 * GUARD_MS) if isinstance(found, Term) else found


def _frozen_clocks(leasing: Leasing) -> Leasing:
    """Measure by a monotonic clock alone, which stands still in a frozen sandbox."""
    own: Any = leasing.ports.clock
    blind: Any = Monotonic(own)
    inner: Any = leasing.ports.leases
    return Leasing(replace(leasing.ports, clock=blind, leases=Delegating(inner)))


@dataclass(frozen=True, slots=True)
class Monotonic:
    """A clock that counts what the monotonic one counts."""

    inner: Any

    def now(self) -> float:
        """Return the monotonic time, as if it were the wall's."""
        return float(self.inner.monotonic())

    def __getattr__(self, name: str) -> Any:
        """Return the clock's own operation."""
        return getattr(self.inner, name)


@dataclass(frozen=True, slots=True)
class Cloned:
    """Randomness that was drawn at init: a clone draws the same."""

    process: Process

    def nonce(self) -> str:
        """Return what was drawn before the split."""
        return self.process.name

    def __getattr__(self, name: str) -> Any:
        """Return the process's own randomness."""
        return getattr(self.process.entropy, name)


def _cloned_nonce(ports: Ports) -> Ports:
    owner: Any = ports.entropy
    cloned: Any = Cloned(owner._owner)
    return replace(ports, entropy=cloned)


def _claim_writes() -> Mapping[str, Planted]:
    named = {"CLAIM": tasks.CLAIM, "RECLAIM": tasks.RECLAIM, "STEAL": tasks.STEAL, "RECORD": tasks.RECORD, "KEEP": tasks.KEEP}
    found = {name: Planted(rewrite=rewrite) for write in named for name, rewrite in each(write, named[write]) if MARK not in name}
    return found | {
        "STEAL without fence, nonce and expiry": Planted(rewrite=without(tasks.STEAL, "att = :att", "nc = :seen", "exp = :lapsed")),
        "RECORD without fence and nonce": Planted(rewrite=without(tasks.RECORD, "nc = :nc", "att = :att")),
        "CLAIM that does not raise the fence": Planted(rewrite=changed(tasks.CLAIM, "(att, :zero) + :one", "(att, :one)")),
        "STEAL that does not raise the fence": Planted(rewrite=changed(tasks.STEAL, "att = att + :one", "att = att")),
        "STEAL that is not counted": Planted(rewrite=changed(tasks.STEAL, "cnt = cnt + :one", "cnt = cnt")),
        "RECORD that forgets whose it was": Planted(rewrite=changed(tasks.RECORD, "SET ", "SET nc = :st, ")),
    }  # fmt: skip


def _claim_code() -> Mapping[str, Planted]:
    return {
        "acknowledges a duplicate while the task runs": Planted(worker=stories.claiming(stories.AcknowledgesWhileRunning)),
        "takes what is recorded for followed": Planted(worker=stories.following(stories.NeverFollowsAgain)),
        "takes a recorded retry for published": Planted(worker=stories.following(stories.NeverRetriesAgain)),
        "publishes follow-ups under fresh ids": Planted(worker=stories.following(stories.FollowsUnderFreshIds)),
        "acknowledges what was not followed": Planted(worker=stories.following(stories.AcknowledgesUnfollowed)),
        "publishes before it records": Planted(worker=stories.follows_before_it_records),
        "records over whoever holds the task": Planted(ports=lambda ports: stories.on_ledger(ports, stories.Unfenced)),
        "never takes over from the dead": Planted(ports=lambda ports: stories.on_ledger(ports, stories.NeverSteals)),
        "counts arrivals at a join": Planted(ports=lambda ports: stories.on_ledger(ports, stories.CountsArrivals)),
        "steals before the claim has ended": Planted(worker=_impatient),
        "draws its nonce at init": Planted(ports=_cloned_nonce),
    }


def _election_writes() -> Mapping[str, Planted]:
    return {
        "REGISTER after the close": Planted(rewrite=without(elections.REGISTER, "st = :open")),
        "REGISTER twice": Planted(rewrite=without(elections.REGISTER, "NOT contains(voters, :name)")),
        "REGISTER without a new version": Planted(rewrite=changed(elections.REGISTER, "ver = ver + :one", "ver = ver")),
        "CLOSE without the version": Planted(rewrite=without(elections.CLOSE, "ver = :ver")),
        "CLOSE of what is closed": Planted(rewrite=without(elections.CLOSE, "st = :open")),
        "OPENING over what is open": Planted(rewrite=without(elections.OPENING)),
    }


_CLOSES = {"holds": without(elections.HOLDS), "took over": without(elections.HOLDS, "att = :att")}


def _lease_writes() -> Mapping[str, PlantedLease]:
    named = {"TAKE_ABSENT": leases.TAKE_ABSENT, "TAKE": leases.TAKE, "RENEW": leases.RENEW, "RELEASE": leases.RELEASE}
    found = {name: PlantedLease(rewrite=rewrite) for write in named for name, rewrite in each(write, named[write])}
    mine = ("nc = :nc", "tok = :tok")
    return found | {
        "RENEW without nonce and token": PlantedLease(rewrite=without(leases.RENEW, *mine)),
        "RELEASE without nonce and token": PlantedLease(rewrite=without(leases.RELEASE, *mine)),
        "RENEW that keeps the version": PlantedLease(rewrite=changed(leases.RENEW, "rv = rv + :one", "rv = rv")),
        "TAKE that keeps the nonce": PlantedLease(rewrite=changed(leases.TAKE, "nc = :nc", "nc = nc")),
    }


def _lease_code() -> Mapping[str, PlantedLease]:
    return {
        "believes from the time of the answer": PlantedLease(leasing=lambda leasing: StampsAnswers(leasing.ports)),
        "believes beyond the guard": PlantedLease(leasing=lambda leasing: WithoutGuard(leasing.ports)),
        "takes before the lease has ended": _with(Ahead),
        "does not know its own write": _with(Forgetful),
        "counts tokens from one": _with(Counter),
        "measures by a clock that freezes": PlantedLease(leasing=_frozen_clocks),
        "draws its nonce at init": PlantedLease(entropy=Cloned),
        "writes without showing its token": PlantedLease(fence="attribute_not_exists(pk) OR attribute_exists(pk)"),
    }


def every() -> dict[str, Stage]:
    """Return all planted faults by name."""
    claims = {**_claim_writes(), **_claim_code()}
    both: dict[str, Callable[..., Any]] = {f"task: {name}": claim(planted) for name, planted in claims.items()}
    both |= {f"election: {name}": election(planted) for name, planted in _election_writes().items()}
    both |= {f"election: CLOSE for a call that another {n}": election(Planted(r), PausedElectionWorld) for n, r in _CLOSES.items()}
    worlds = (revocation_mutants, partition_mutants, singleton_mutants, topic_mutants, member_mutants, schedule_mutants, limit_mutants)
    worlds = (*worlds, group_mutants)
    for world in (*worlds, flow_mutants, controller_mutants, circuit_mutants, collect_mutants, extension_mutants, effect_mutants):
        both |= world.stages()
    both |= {f"lease: {name}": lease(planted) for name, planted in {**_lease_writes(), **_lease_code()}.items()}
    return both


_FENCE = "fence, nonce and expiry change together at every claim and nothing else changes them: each says what the others say"
EQUIVALENT: Mapping[str, str] = {
    "task: STEAL without try = :try": "the attempt changes only together with the state and the nonce, which STEAL names as well",
    "task: STEAL without att = :att": _FENCE,
    "task: STEAL without nc = :seen": _FENCE,
    "task: STEAL without exp = :lapsed": _FENCE + "; it counts where a holder extends its claim (`extensions: STEAL …`)",
    "task: RECORD without nc = :nc": _FENCE,
    "task: RECORD without att = :att": _FENCE + "; two grants under one nonce need a claim that arrives after its own release",
    "task: KEEP without try = :try": "what is recorded without a claim leaves no RETRY, so KEEP never meets one",
    "extensions: EXTEND without nc = :nc": "each claim has a fence of its own",
    "extensions: EXTEND without att = :att": "each claim has a nonce of its own",
    "groups: END without nc": _FENCE,
    "groups: END without att": _FENCE,
    "effects: RECORD without nc = :nc": _FENCE,
    "effects: RECORD without att = :att": _FENCE,
    "effects: KEEP without try = :try": "what is recorded without a claim leaves no RETRY, so KEEP never meets one",
    "lease: TAKE without tok = :seen": "the version rises at every write, and starts anew only after a deletion, which no request outlives",
    "lease: RENEW without nc = :nc": "each grant has a token of its own",
    "lease: RENEW without tok = :tok": "each grant has a nonce of its own",
    "lease: RELEASE without nc = :nc": "each grant has a token of its own",
    "lease: RELEASE without tok = :tok": "each grant has a nonce of its own",
    "limits: JOIN of a line that is behind": "turns only grow, so a line that was seen ahead is ahead; it counts for one that was deleted",
}
"""Planted faults that change nothing that anybody could see, and why; where two say the same, both are dropped together as well."""
