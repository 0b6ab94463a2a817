"""Planted faults of revocation: its conditional writes with a conjunct dropped, and workers that do not look, or not again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import partial
from typing import Any

from sedano.aws.expressions import control, tasks
from sedano.engine.batch import Batch, Held, Job
from sedano.engine.pauses import Pauses
from sedano.engine.worker.claims import Claiming
from sedano.engine.worker.pipeline import Worker
from sedano.model.cluster.control_record import ControlRecord
from sedano.model.ledger.claims import ClaimDecision
from sedano.model.ledger.records import Claim, ClaimAnswer, Claimed, TaskRecord
from sedano.ports import Delivery, Ports
from tests.simulation.campaign import Schedule, Stage
from tests.simulation.claims import Planted
from tests.simulation.revocations import RevocationWorld
from tests.simulation.weaken import changed, each, without
from tests.stories import mutants as stories

MARK = "attribute_not_exists(rvk)"


class Blind(stories.Delegating):
    """Does not see what a revocation asked when it claims."""

    def claim(self, claims: Sequence[Claim]) -> list[ClaimAnswer]:
        """Claim."""
        return [_unmarked(answer) for answer in self.inner.claim(claims)]

    def steal(self, claim: Claim, seen: TaskRecord) -> ClaimAnswer:
        """Steal."""
        return _unmarked(self.inner.steal(claim, seen))


class NeverLooks(stories.Delegating):
    """Does not see what a revocation asked at a checkpoint."""

    def read(self, task_ids: Sequence[str]) -> dict[str, TaskRecord]:
        """Read."""
        return {task_id: record._replace(asked=0) for task_id, record in self.inner.read(task_ids).items()}


class Deaf(stories.Delegating):
    """A control record that tells nothing."""

    def read(self) -> ControlRecord:
        """Read and forget."""
        self.inner.read()
        return ControlRecord()


class TakesWhatIsPaused(Pauses):
    """Takes what lies in a paused queue."""

    def sift(self, deliveries: Sequence[Delivery], batch: Batch) -> Sequence[Delivery]:
        """Let everything pass."""
        return deliveries


class TakesOverWhatIsMarked(Claiming):
    """Runs what was marked after it was seen and before it was taken over."""

    def _stolen(self, held: Held, seen: TaskRecord, decision: ClaimDecision, batch: Batch) -> Held:
        found = super()._stolen(held, seen, decision, batch)
        return found if seen.asked else found._replace(stillborn=held.job.stillborn)


class TakesForEnded(Claiming):
    """Acknowledges a revoked task, and does not answer the callers that wait for it."""

    def _revoked(self, job: Job, record: TaskRecord, batch: Batch) -> None:
        self.following.window.add(job.command.id)


def _unmarked(answer: ClaimAnswer) -> ClaimAnswer:
    if isinstance(answer, Claimed) and answer.record is not None:
        return Claimed(answer.granted, answer.record._replace(asked=0))
    return answer


def _hears_once(worker: Worker) -> None:
    """Let a worker read the control record when it starts and never again."""
    hello, membership = worker.membership.hello, worker.membership

    def once() -> None:
        if not membership._heard:
            hello()
        else:
            membership._due = membership._ports.clock.now() - membership._last >= membership._every

    worker.membership = _Membership(membership, once)  # type: ignore[assignment]


class _Membership(stories.Delegating):
    """A membership with another hello."""

    def __init__(self, inner: Any, hello: Any) -> None:
        """Stand for *inner*."""
        super().__init__(inner)
        self.hello = hello


def _never_pauses(worker: Worker) -> None:
    """Let a worker take what lies in a paused queue."""
    inner: Any = worker._admission.gate("pauses")
    worker._admission._put("pauses", TakesWhatIsPaused(inner._ports, inner._membership, inner._arguments))


def _deaf(ports: Ports) -> Ports:
    control_port: Any = Deaf(ports.control)
    return replace(ports, control=control_port)


def stages() -> dict[str, Stage]:
    """Return the worlds of revoked tasks with each of the faults, by name."""
    return {f"revocation: {name}": partial(_stage, fault) for name, fault in planted().items()}


def _stage(fault: Planted, seed: int, allowed: AbstractSet[int] | None) -> Schedule:
    return RevocationWorld(seed, fault, allowed)


def planted() -> Mapping[str, Planted]:
    """Return the planted faults by name."""
    named = {"REVOKE": tasks.REVOKE, "ASK": tasks.ASK, "CHANGE": control.CHANGE, "CHANGE_ABSENT": control.CHANGE_ABSENT}
    found = {name: Planted(rewrite=rewrite) for write in named for name, rewrite in each(write, named[write])}
    return found | {
        f"CLAIM without {MARK}": Planted(rewrite=without(tasks.CLAIM, MARK)),
        f"RECLAIM without {MARK}": Planted(rewrite=without(tasks.RECLAIM, MARK)),
        "RECORD that forgets the mark": Planted(rewrite=changed(tasks.RECORD, "SET ", "REMOVE rvk SET ")),
        "STEAL that forgets the mark": Planted(rewrite=changed(tasks.STEAL, "SET ", "REMOVE rvk SET ")),
        "does not see the mark when it claims": Planted(ports=lambda ports: stories.on_ledger(ports, Blind)),
        "does not see the mark at a checkpoint": Planted(ports=lambda ports: stories.on_ledger(ports, NeverLooks)),
        "takes over what was marked meanwhile": Planted(worker=stories.claiming(TakesOverWhatIsMarked)),
        "takes what is revoked for ended": Planted(worker=stories.claiming(TakesForEnded)),
        "hears of headers only when it starts": Planted(worker=_hears_once),
        "takes what lies in a paused queue": Planted(worker=_never_pauses),
        "does not hear of headers": Planted(ports=_deaf),
    }
