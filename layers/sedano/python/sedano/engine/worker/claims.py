"""The claim step: become the single holder of each task, or decide by the existing record what to do instead.

The rule is pure (`sedano.model.ledger.claims`); this module applies it. Tasks whose delivery needs no claim pass through.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NamedTuple

from sedano.engine.batch import Batch, Held, Job, Stillborn
from sedano.engine.cluster.membership import Membership
from sedano.engine.history.run_events import count_at_once
from sedano.engine.redelivery import hold_back
from sedano.engine.unexpected_errors import answers_of, contain, settle
from sedano.engine.worker.end_hooks import EndHooks
from sedano.engine.worker.follow_ups import Following
from sedano.errors import MessageRefused, SedanoError
from sedano.model import refusals, states
from sedano.model.canvas.continuation import ends_member
from sedano.model.deferrals import SHORT_S, waited
from sedano.model.inline_links import inline_id
from sedano.model.ledger.claims import Action, ClaimDecision, decide, is_another
from sedano.model.ledger.dedup_keys import is_of_another, keyed_by
from sedano.model.ledger.records import RECORD_LIFETIME_S, Claim, ClaimAnswer, ErrorRecord, Outcome, TaskRecord
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.message import PACK, Command
from sedano.model.packs import member_of
from sedano.ports import Ports

GUARD_S = 1.0
"""A claim lasts this much longer (s) than its invocation, because clocks may differ a little."""
ENDS_COPIES = (Action.ACKNOWLEDGE, Action.STEAL, Action.POISON)
"""The decisions about a message whose task another message has claimed; if that one has another payload, this one is parked."""
AGAIN_S = 30.0
"""The seconds after which a member whose task runs for another canvas is delivered again."""
STEALS = 3
"""How often one delivery tries to take over an expired claim before it is deferred."""


class Claiming(NamedTuple):
    """Claims tasks. *most_claims*: claims of one attempt after which a task counts as poison; *length*: the seconds of a claim that is
    extended (`engine.worker.claim_extension`); None: until the deadline of its batch.
    """

    ports: Ports
    lamport: LamportClock
    following: Following
    membership: Membership
    most_claims: int
    length: float | None = None

    def claim(self, jobs: Sequence[Job], batch: Batch) -> list[Held]:
        """Return the jobs that may run, each with the record of its claim; decide the others in *batch*."""
        unclaimed = [job for job in jobs if job.mode != "claimed"]
        plain = [Held(job, None, job.stillborn) for job in unclaimed if self._is_recordable(job, batch)]
        if len(unclaimed) == len(jobs):
            return plain
        claimed = [job for job in jobs if job.mode == "claimed"]
        claims = [self._claim(job, batch) for job in claimed]
        answers = self._answers(claims)
        tries = map(self._in_place, claimed, claims, answers)
        for job, claim, answer in tries:
            try:
                held = self._settle(job, claim, answer, batch)
            except Exception as error:  # noqa: BLE001 - the last resort
                contain(self.ports.telemetry, error, job.delivery, batch)
                continue
            if held is not None:
                plain.append(held)
        return plain

    def _answers(self, claims: Sequence[Claim]) -> Sequence[ClaimAnswer | SedanoError]:
        """Claim all together; a claim that is repeated alone has the same nonce, so no task is claimed twice."""
        return answers_of(self.ports.telemetry, self.ports.ledger.claim, claims)

    def _claim(self, job: Job, batch: Batch) -> Claim:
        command = job.command
        left = "." in command.task_id and member_of(command.task_id) is not None  # its pack says how often it was tried
        old = command.time < job.received - RECORD_LIFETIME_S
        expires = batch.deadline + GUARD_S if self.length is None else self.ports.clock.now() + self.length
        return Claim(
            task_id=command.task_id, attempt=command.attempt, message_id=command.id, nonce=self.ports.entropy.nonce(), expires=expires,
            clock=job.received_clock, name=command.task, must_exist=command.attempt > left or old,
            owner=self.membership.name, left=left,
        )  # fmt: skip

    def _in_place(self, job: Job, claim: Claim, answer: ClaimAnswer | SedanoError) -> tuple[Job, Claim, ClaimAnswer | SedanoError]:
        """Continue with the attempt of the record, for a message that keeps its place in an order and so carries all attempts of its
        task."""
        record = None if job.delivery.serial_key is None or isinstance(answer, SedanoError) else answer.record
        if record is None or not _goes_on(claim, record):
            return job, claim, answer
        job = job._replace(command=job.command._replace(attempt=record.attempt, section=record.section))
        claim = claim._replace(attempt=record.attempt, must_exist=True)
        if record.state == states.RETRY and record.not_before <= self.ports.clock.now():
            (answer,) = self._answers([claim])
        return job, claim, answer

    def _settle(self, job: Job, claim: Claim, answer: ClaimAnswer | SedanoError, batch: Batch) -> Held | None:
        for turn in range(STEALS):
            if isinstance(answer, SedanoError):
                self.ports.telemetry.log("warning", "claim not answered", task_id=claim.task_id, error=str(answer))
                self._unanswered(job, answer, batch)
                return None
            if answer.granted:
                return _held(job, answer.record)
            decision = decide(claim, answer.record, self.ports.clock.now(), self._most(job), inline_id(job.command))
            if decision.action is Action.RUN:
                return _held(job, answer.record)
            seen = answer.record
            if seen is None or not _takes_over(decision, job.command, seen):
                self._refused(job, seen, decision, batch)
                return None
            if is_inline(job):
                break  # nothing is taken over inline: the link is sent, and the receipts of its message count
            answer = self._steal(job, claim, seen, first=turn == 0)
            if not isinstance(answer, SedanoError) and answer.granted:
                return self._stolen(_held(job, answer.record), seen, decision, batch)
        batch.give_back(job.delivery)
        return None

    def _most(self, job: Job) -> int:
        """Return how many claims of one attempt may end without a record. Those of a pack run nothing after the first, so all may."""
        return sys.maxsize if job.command.task == PACK else self.most_claims

    def _is_recordable(self, job: Job, batch: Batch) -> bool:
        """Return whether *job* may run without a claim: if an earlier run could not be recorded, the ledger must answer first.

        Otherwise an outage of the ledger would run its body repeatedly, until the limit of executions.
        """
        if not waited(job.delivery.attributes).runs:
            return True
        try:
            self.ports.ledger.read([job.command.task_id])
        except SedanoError as error:
            batch.defer_job(job, error)
            return False
        return True

    def _unanswered(self, job: Job, answer: SedanoError, batch: Batch) -> None:
        if isinstance(answer, MessageRefused):
            settle(self.ports.telemetry, answer, job.delivery, batch)
        else:
            batch.defer_job(job, answer)

    def _steal(self, job: Job, claim: Claim, seen: TaskRecord, *, first: bool) -> ClaimAnswer | SedanoError:
        if first:
            count_at_once(self.ports.telemetry, "ClaimsStolen", job.task.name)
        try:
            return self.ports.ledger.steal(claim, seen)
        except SedanoError as error:
            return error

    def _stolen(self, held: Held, seen: TaskRecord, decision: ClaimDecision, batch: Batch) -> Held:
        """Take over from the holder that was *seen*: run the task, or end it if it must not be tried again."""
        job = held.job
        now = self.ports.clock.now()
        batch.chronicle.line("claim-stolen", self.lamport.forward(), now, uuid=job.command.task_id, name=job.task.name)
        self.membership.lose(held, batch, seen.expires, seen.owner)
        if decision.action is Action.POISON:
            return held._replace(stillborn=Stillborn(states.POISON, refusals.POISON, "taskid", decision.reason))
        return held

    def _refused(self, job: Job, record: TaskRecord | None, decision: ClaimDecision, batch: Batch) -> None:
        if decision.action is Action.QUARANTINE:
            batch.park(job.delivery, refusals.QUARANTINE, "taskid", "there is no record of this task's earlier attempts")
            return
        if record is not None and (decision.action is Action.REVOKE or _revoked(record)):
            self._revoked(job, record, batch)
            return
        if record is not None and decision.action in ENDS_COPIES and is_another(job.command, record):
            what = f"{_other(job.command, record)} under this id; give this task its own id"
            batch.park(job.delivery, refusals.TAKEN, "taskid", what)
            return
        batch.count("Duplicates", job.task.name)
        batch.chronicle.line(
            "message-duplicate", self.lamport.forward(), self.ports.clock.now(), uuid=job.command.task_id, name=job.task.name,
            absorbed=decision.action.value,
        )  # fmt: skip
        if decision.action is Action.WAIT:
            self._wait(job, decision.seconds + 1.0 + self.ports.entropy.unit(), batch)
        elif decision.action is Action.FOLLOW_AGAIN and record is not None:
            self.following.follow_again(job, record, batch)
        elif decision.action is Action.RETRY_AGAIN and record is not None:
            self.following.retry_again(job, record, batch)
        elif record is not None and ends_member(job.command):
            self._arrives(job, record, batch)

    def _arrives(self, job: Job, record: TaskRecord, batch: Batch) -> None:
        """Let a member with a user-chosen id arrive, because another canvas may have run the task under that id; first wait for its end."""
        if record.state not in states.TERMINAL:
            self._wait(job, AGAIN_S, batch)
        elif not record.added:
            self.following.arrive_again(job, record, batch)

    def _wait(self, job: Job, seconds: float, batch: Batch) -> None:
        """Defer *job* until the existing claim ends: in flight for a short while, else sent again."""
        if seconds <= SHORT_S or job.delivery.serial_key is not None:
            hold_back(self.ports, job.delivery, seconds, batch)
        else:
            batch.defer(job.delivery, seconds=seconds)

    def _revoked(self, job: Job, record: TaskRecord, batch: Batch) -> None:
        """End a revoked task, unless its record already shows it, and publish its follow-ups."""
        if record.state != states.REVOKED:
            clock, now = self.lamport.forward(), self.ports.clock.now()
            try:
                self.ports.ledger.revoke(job.command.task_id, clock, now)
            except SedanoError as error:
                self.ports.telemetry.log("warning", "revocation not recorded", task_id=job.command.task_id, error=str(error))
                batch.defer_job(job, error)
                return
            record = record._replace(state=states.REVOKED, clock=clock, outbox=(), outbox_ref=None)
            if self.following.hooks is not None:
                self._tell(job, clock, now, self.following.hooks)
        batch.count("TasksRevoked", job.task.name)
        self.following.follow_again(job, record, batch)

    def _tell(self, job: Job, clock: int, at: float, hooks: EndHooks) -> None:
        """Call the hooks for the revocation that this worker recorded with *clock*; another worker may have recorded it first."""
        task_id, command = job.command.task_id, job.command
        try:
            record = self.ports.ledger.read([task_id]).get(task_id)
        except SedanoError as error:
            self.ports.telemetry.log("warning", "a hook is not called: the record is not read", task_id=task_id, error=str(error))
            return
        if record is not None and (record.state, record.clock) == (states.REVOKED, clock):
            why = ErrorRecord(states.ROWS[states.REVOKED].error_type, "revoked while an earlier attempt ran")
            end = Outcome(
                task_id=task_id, state=states.REVOKED, nonce="", fence=0, message_id="", attempt=command.attempt, clock=clock,
                name=command.task, at=at, error=why,
            )  # fmt: skip
            hooks.revoked(end, command, self.ports.telemetry)


def _other(command: Command, record: TaskRecord) -> str:
    """Describe the task that has run instead of *command*."""
    if record.name != command.task:
        return f"the task {record.name} has run"
    if keyed_by(command):
        return "by the same dedup_key, other arguments have run"
    return "a canvas with the same beginning and another continuation has run"


def is_inline(job: Job) -> bool:
    """Return whether *job* is a link that runs inline: it came from no queue, under the id of its link."""
    return not job.delivery.receipt and job.command.id == inline_id(job.command)


def _held(job: Job, record: TaskRecord | None) -> Held:
    """Return *job* as held under *record*. A task that was marked as revoked before its body begins, even just before a take-over, ends."""
    if record is None or not record.asked:
        return Held(job, record, job.stillborn)
    return Held(job, record, Stillborn(states.REVOKED, refusals.REVOKED, "taskid", "revoked before it began"))


def _goes_on(claim: Claim, record: TaskRecord) -> bool:
    """Return whether this message recorded, or began, the attempt before that of *record*."""
    return record.message_id == claim.message_id and record.attempt > claim.attempt and record.state in (states.RETRY, states.RUNNING)


def _takes_over(decision: ClaimDecision, command: Command, seen: TaskRecord) -> bool:
    """Return whether to take over the claim that was *seen*: never by a message with other arguments under its key."""
    if decision.action in ENDS_COPIES and is_of_another(keyed_by(command), seen):
        return False
    ends = decision.action is Action.REVOKE and seen.state == states.RUNNING
    return ends or decision.action in (Action.STEAL, Action.POISON)


def _revoked(record: TaskRecord) -> bool:
    """Return whether a revocation by id, and not a message, ended it."""
    return record.state == states.REVOKED and not record.message_id
