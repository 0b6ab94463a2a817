"""Planted faults, each a way in which task queues really go wrong: small changes of one step of the worker, or of one port.

A story that no mutant can fail proves nothing; `test_mutants` shows that each of these is caught.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sedano.engine.batch import Batch, Job, Ran
from sedano.engine.drafts import Addressed
from sedano.engine.worker.claims import Claiming
from sedano.engine.worker.follow_ups import Due, Following
from sedano.engine.worker.pipeline import Worker
from sedano.engine.worker.recording import RecordedRun
from sedano.errors import SedanoError
from sedano.model.canvas.join import Arrival, Arrived
from sedano.model.ledger.claims import Action, ClaimDecision
from sedano.model.ledger.records import Claim, ClaimAnswer, Outcome, RecordAnswer, Recorded, TaskRecord
from sedano.model.messages import codec
from sedano.model.messages.message import Command
from sedano.ports import Outgoing, Ports


def _as(kind: type[Any], step: Any) -> Any:
    """Return *step* as a *kind* of step."""
    return kind(*(getattr(step, name) for name in step.__match_args__))


class AcknowledgesWhileRunning(Claiming):
    """Takes a message whose task is running elsewhere for done."""

    def _refused(self, job: Job, record: TaskRecord | None, decision: ClaimDecision, batch: Batch) -> None:
        if decision.action is not Action.WAIT:
            super()._refused(job, record, decision, batch)


class NeverFollowsAgain(Following):
    """Takes what is recorded for followed."""

    def follow_again(self, job: Job, record: TaskRecord, batch: Batch) -> None:
        """Do nothing."""


class NeverRetriesAgain(Following):
    """Takes a recorded retry for published."""

    def retry_again(self, job: Job, record: TaskRecord, batch: Batch) -> None:
        """Do nothing."""


class FollowsUnderFreshIds(Following):
    """Publishes follow-ups as new tasks each time."""

    def _sent(self, due: Due, batch: Batch) -> dict[str, SedanoError]:
        due.messages = [self._fresh(m) for m in due.messages]
        return super()._sent(due, batch)

    def _fresh(self, message: Addressed) -> Addressed:
        command = codec.decode(message.outgoing.body)
        if not isinstance(command, Command) or command.member is not None or command.attempt:
            return message
        body = codec.encode(command._replace(id=self.ports.entropy.uuid(), task_id=self.ports.entropy.uuid()))
        return Addressed(message.queue, Outgoing(body, message.outgoing.delay, message.outgoing.tenant))


class AcknowledgesUnfollowed(Following):
    """Acknowledges a message although what follows from it was not accepted."""

    def _not_followed(self, job: Job, error: SedanoError, batch: Batch) -> None:
        """Do nothing."""


class Delegating:
    """Stands for a ledger; what a mutant does not change is passed on."""

    def __init__(self, inner: Any) -> None:
        """Stand for *inner*."""
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        """Return the ledger's own operation."""
        return getattr(self.inner, name)


class Unfenced(Delegating):
    """Records whatever comes, whoever holds the task."""

    def record(self, outcomes: Sequence[Outcome]) -> list[RecordAnswer]:
        """Record under the fence and nonce of whoever holds it now."""
        held = self.inner.read([o.task_id for o in outcomes])
        forged = [o._replace(nonce=held[o.task_id].nonce, fence=held[o.task_id].fence) for o in outcomes]
        return [Recorded(True) for _ in self.inner.record(forged)]


class NeverSteals(Delegating):
    """Leaves a task to its dead holder."""

    def steal(self, claim: Claim, seen: TaskRecord) -> ClaimAnswer:
        """Refuse."""
        return self.inner.claim([claim])[0]  # type: ignore[no-any-return]


class CountsArrivals(Delegating):
    """Counts the members that arrive at a join where it should keep a set of them, and takes one count for full, as Celery does."""

    def __init__(self, inner: Any) -> None:
        """Count from zero."""
        super().__init__(inner)
        self.counts: dict[tuple[str, str], int] = {}

    def arrive(self, arrivals: Sequence[Arrival]) -> list[Arrived]:
        """Add one for each."""
        answers = []
        for arrival in arrivals:
            key = (arrival.join_id, arrival.node.key)
            self.counts[key] = self.counts.get(key, 0) + 1
            full = self.counts[key] == arrival.node.width
            answers.append(Arrived(frozenset(range(arrival.node.width if full else 0))))
        return answers


def claiming(kind: type[Claiming]) -> Any:
    """Return what puts a mutant of the claim step into a worker."""

    def mutate(worker: Worker) -> None:
        worker._claiming = _as(kind, worker._claiming)

    return mutate


def following(kind: type[Following]) -> Any:
    """Return what puts a mutant of the follow step into a worker."""

    def mutate(worker: Worker) -> None:
        worker._following = _as(kind, worker._following)
        worker._claiming = worker._claiming._replace(following=worker._following)

    return mutate


def follows_before_it_records(worker: Worker) -> None:
    """Let a worker publish what follows from a run before it records the run."""
    record = worker.recording.judge_and_record

    def follow_first(ran: Ran) -> RecordedRun:
        judged = worker.recording.judging.judge(ran)
        worker.publisher.publish_all(judged.posted)
        return record(ran)

    worker.recording.judge_and_record = follow_first  # type: ignore[method-assign]


def on_ledger(ports: Ports, kind: type[Delegating]) -> Ports:
    """Return *ports* with a mutant of their ledger."""
    mutant: Any = kind(ports.ledger)
    return replace(ports, ledger=mutant)
