"""The judge step: from the run of a body to its record and follow-ups. The rule is pure (`sedano.model.ledger.outcome`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sedano.engine.batch import Judged, Ran
from sedano.engine.canvas.continuation import Conducting
from sedano.engine.drafts import Addressed, Composer, weight_of
from sedano.engine.outbox import stored
from sedano.engine.worker.next_attempt import attempt_message, unusable, with_wishes, without_retry
from sedano.errors import EffectRefused, Unavailable
from sedano.model import states
from sedano.model.ledger.outcome import NextAttempt, Run, Verdict, is_spent, judge
from sedano.model.ledger.records import INLINE_BYTES, ErrorRecord, Outcome, Posted, RecordAnswer, TaskRecord
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.lineage import descend
from sedano.model.messages.message import PACK, BlobRef
from sedano.model.packs import may_be_released
from sedano.model.retry import MAX_EXECUTIONS, MOST_EXECUTIONS, NEVER
from sedano.ports import Ports


class Judging(NamedTuple):
    """Judges runs."""

    ports: Ports
    lamport: LamportClock
    composer: Composer
    conducting: Conducting

    def judge(self, ran: Ran) -> Judged:
        """Return the verdict on *ran*, the record to write, and the stamped messages of its outbox.

        Raises:
            Unavailable: a large result or outbox cannot be stored now.
        """
        verdict = self._verdict(ran)
        posted: Sequence[Addressed] = ()
        if ran.run.again is not None:
            ran, verdict, posted = self._asked(ran, verdict, ran.run.again)
        if ran.drafts and (verdict.state != states.RETRY or ran.run.replaced):
            try:
                posted = self._post(ran)
            except Unavailable:
                raise
            except Exception as wrong:  # noqa: BLE001 - what the body published cannot be written: it has failed
                ran = ran._replace(run=Run(error=ErrorRecord(type(wrong).__name__, str(wrong)), poisonous=True), result=None)
                verdict = self._verdict(ran)
        return Judged(ran, verdict, self._outcome(ran, verdict, posted), posted)

    def all_released(self, claimed: Iterable[TaskRecord | None]) -> list[Outcome]:
        """Return the outcomes that release those of the *claimed* records that may be released; a task without a claim has none."""
        return [self.released(record) for record in claimed if record is not None and may_be_released(record)]

    def released(self, claimed: TaskRecord) -> Outcome:
        """Return the outcome that releases a claim whose body did not begin or does not end: the attempt may be claimed again."""
        return Outcome(
            task_id=claimed.task_id, state=states.RETRY, nonce=claimed.nonce, fence=claimed.fence, message_id=claimed.message_id,
            attempt=claimed.attempt, clock=self.lamport.forward(), name=claimed.name, at=self.ports.clock.now(),
            next_attempt=claimed.attempt,
        )  # fmt: skip

    def _verdict(self, ran: Ran) -> Verdict:
        if ran.held.stillborn is not None:
            return Verdict(ran.held.stillborn.state)
        if ran.run.error is None:
            return judge(ran.run, NEVER, 0, None, 0.0)
        job = ran.held.job
        command, policy, before = job.command, job.task.retry, self.conducting.attempts_before(job.command)
        most = MOST_EXECUTIONS if job.delivery.serial_key is None else MAX_EXECUTIONS  # a FIFO queue delivers a message 1 000 times
        spent = is_spent(policy, ran.run.policy, command.attempt, before, most)
        return judge(ran.run, policy, command.attempt - before, command.section, self.ports.entropy.unit(), is_spent=spent)

    def _asked(self, ran: Ran, verdict: Verdict, wishes: NextAttempt) -> tuple[Ran, Verdict, Sequence[Addressed]]:
        """Return *ran*, whose body asked for another attempt, its verdict, and the message of the attempt if that has other arguments."""
        if verdict.state != states.RETRY:
            return ran._replace(run=without_retry(ran.run, ran.held.job.task.retry)), verdict, ()
        if not wishes.has_other_arguments:
            return ran, verdict, ()
        try:
            return ran, verdict, [self._next(ran, verdict, wishes)]
        except Unavailable:
            raise
        except Exception as wrong:  # noqa: BLE001 - no attempt can run with what the body wishes: it has failed
            ran = ran._replace(run=unusable(ran.run, wrong))
            return ran, self._verdict(ran), ()

    def _next(self, ran: Ran, verdict: Verdict, wishes: NextAttempt) -> Addressed:
        """Return the message of the next attempt with the arguments that the body wishes, to be recorded with the verdict."""
        job = ran.held.job
        command = with_wishes(job, wishes, self.ports.blobs)
        return attempt_message(self.composer, job, job.command.attempt + 1, verdict.pause, verdict.section, command)

    def _post(self, ran: Ran) -> list[Addressed]:
        command = ran.held.job.command
        lineage = descend(command.task_id, command.lineage, weight_of(ran.drafts))
        return [self.composer.compose(draft, lineage) for draft in ran.drafts]

    def _outcome(self, ran: Ran, verdict: Verdict, posted: Sequence[Addressed]) -> Outcome | None:
        job, record = ran.held.job, ran.held.record
        command, again = job.command, verdict.state == states.RETRY
        if record is None and (again or job.mode == "at_least_once"):
            return None
        needed = command.member is not None or command.place is not None or job.task.keeps(command)
        result, result_ref = (ran.result, None) if command.task == PACK else self._kept(ran.result if needed else None)
        outbox, outbox_ref = stored(posted, self.ports.blobs, INLINE_BYTES) if posted else ((), None)
        return Outcome(
            task_id=command.task_id, state=verdict.state, nonce=record.nonce if record else self.ports.entropy.nonce(),
            fence=record.fence if record else 0, message_id=command.id, attempt=command.attempt, clock=self.lamport.forward(),
            name=command.task, at=ran.ended, result=result, result_ref=result_ref, error=ran.run.error, outbox=outbox,
            outbox_ref=outbox_ref, next_attempt=command.attempt + 1 if again else 0,
            not_before=ran.ended + verdict.pause if again else 0.0, section=verdict.section, added=ran.added,
            call=self._call(ran) if verdict.state in states.UNSUCCESSFUL else None,
        )  # fmt: skip

    def _call(self, ran: Ran) -> Posted | None:
        from sedano.engine.reruns import call_of

        return call_of(ran, self.ports)

    def _kept(self, result: str | None) -> tuple[str | None, BlobRef | None]:
        if result is None or len(result) <= INLINE_BYTES:
            return result, None
        return None, self.ports.blobs.put(result.encode())


def write(ports: Ports, ran: Ran, outcome: Outcome) -> RecordAnswer | EffectRefused:
    """Record *outcome*; with the effects of *ran*, if it has some and succeeded."""
    claimed = ran.held.record is not None
    if ran.effects and outcome.state == states.SUCCESS:
        return ports.effects.record(outcome, ran.effects, claimed=claimed)
    (answer,) = (ports.ledger.record if claimed else ports.ledger.keep)([outcome])
    return answer
