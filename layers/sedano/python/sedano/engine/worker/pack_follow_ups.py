"""The follow-ups of an ended pack, read off its record: the same after its end and after each redelivery (`sedano.model.packs`).

The members that ended in it arrive at their join, and what they published is sent. The members that left are sent as commands of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sedano.engine.batch import Batch, Held, Job, Judged, Parking, Ran
from sedano.engine.canvas.continuation import Conducting, Consequences
from sedano.engine.canvas.map_tasks import built_in
from sedano.engine.drafts import Addressed, CommandDraft, Composer
from sedano.engine.history.run_events import tell, tell_again, tell_exit
from sedano.engine.outbox import restored
from sedano.engine.parked.parking import ParkingLot
from sedano.engine.registry import Registry
from sedano.engine.unexpected_errors import is_early
from sedano.engine.worker.end_hooks import EndHooks
from sedano.errors import MessageRefused, Reject, SedanoError, Unavailable
from sedano.model import refusals, states
from sedano.model.ledger.outcome import Run
from sedano.model.ledger.records import ErrorRecord, Outcome, Posted, TaskRecord, end_of
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.message import PACK, Command
from sedano.model.packs import PackedCalls, ends_of, known_calls, member_command, read_calls, spoken
from sedano.model.queues import queue_of
from sedano.ports import PARKED, Ports


@dataclass(frozen=True, slots=True)
class PackFollowUps:
    """Finds the follow-ups of packs."""

    ports: Ports
    registry: Registry
    lamport: LamportClock
    composer: Composer
    conducting: Conducting

    def found(self, job: Job, ran: Sequence[Judged], batch: Batch, hooks: EndHooks | None = None) -> Consequences:
        """Return the follow-ups of the ended pack of *job*, and report its members; *ran*: the verdicts on those that ran here now.

        *hooks*: those of the app, called for members that this worker has just recorded as revoked without a run; None: it has not.
        Its arguments are read for members that left or were rejected, or ended with the whole pack, and for no other: if they are lost,
        members that left end, and the others are followed.

        Raises:
            Unavailable: its record cannot be read now.
            MessageRefused: its message is not valid.
        """
        record, found = self.ports.ledger.read([job.command.task_id]).get(job.command.task_id), Consequences()
        calls, lost, ended = known_calls(job.command, record), None, ends_of(record)
        said = [spoken(calls.member(place), record, ended) for place in range(len(calls.calls))]
        if ended is None or any(left or _is_rejected(end) for end, left in said):
            calls, lost = self._loaded(job, calls)
            said = [spoken(calls.member(place), record, ended) for place in range(len(calls.calls))]
        judged = {one.ran.held.job.command.task_id: one for one in ran}
        failed: list[tuple[Job, TaskRecord]] = []
        task = self.registry.tasks.get(calls.task) or built_in(self.registry, calls.task) or job.task
        for place, (end, left) in enumerate(said):
            own = job._replace(command=member_command(job.command, calls, place), task=task)
            if end is None or end.state == states.RUNNING:
                raise Unavailable(f"the end of the pack {job.command.task_id} cannot be read yet")
            self._report(own, end, judged.get(own.command.task_id), batch, hooks)
            if left and lost is not None:
                self._ends(own, lost, found, batch)
            elif left:
                self._leaves(job, own, end, found, batch)
            else:
                self._ended(own, end, lost, found, batch)
                failed += [(own, end)] if end.state in states.FAILED or not end.name else []
        self._list(failed, lost)
        return found

    def _calls(self, job: Job) -> PackedCalls:
        args, _ = self.conducting.gathering.arguments(job.command)
        return read_calls(job.command._replace(args=args))

    def _loaded(self, job: Job, known: PackedCalls) -> tuple[PackedCalls, MessageRefused | None]:
        """Return the calls of the pack of *job* with their arguments; if those are lost, those that are *known*, and why."""
        try:
            return self._calls(job), None
        except MessageRefused as refused:
            if is_early(refused, job.delivery):
                raise
            return known, refused

    def _ended(self, own: Job, end: TaskRecord, lost: MessageRefused | None, found: Consequences, batch: Batch) -> None:
        """Add the follow-ups of a member with the *end* in its pack. If what it published is lost, its message is parked; it ended."""
        try:
            found.messages += restored(end, self.ports.blobs)
        except MessageRefused as refused:
            if is_early(refused, own.delivery):
                raise
            self._park(own, refused, batch)
        if end.added:
            more = self.conducting.succeeded(own, _no_value, end.added)
            found.messages += more.messages
            found.arrivals += more.arrivals
        elif own.command.member is not None:
            found.arrivals.append((own.command.member, end.state != states.SUCCESS))
        if _is_rejected(end):
            why = (end.error.message if end.error is not None else "") or "its task refused it"
            if lost is None:
                found.messages.append(self._rejected(own, end, why))
            else:
                self._park(own, lost, batch)

    def _leaves(self, job: Job, own: Job, end: TaskRecord, found: Consequences, batch: Batch) -> None:
        """Add the message of a member that left as *end*: the recorded one of its next attempt or its replacement, or its command."""
        try:
            instead = restored(end, self.ports.blobs)
        except MessageRefused as refused:
            if is_early(refused, own.delivery):
                raise
            self._ends(own, refused, found, batch)
            return
        if end.error is not None:  # the recorded next attempt, which waits for the rest of its pause
            wait = self._wait(end)
            instead = [one._replace(outgoing=one.outgoing._replace(delay=wait)) for one in instead]
        found.messages += instead or [self._alone(job, own.command, end)]

    def _rejected(self, own: Job, end: TaskRecord, why: str) -> Addressed:
        """Return the message of a member that its body refused, for the parked queue: that of its pack is about its neighbours too.

        It has the id of the pack's message, which ended it, so that it is run anew when it is sent again.
        """
        message = self._alone(own, own.command, end, own.command.id)
        parked = Parking(own.delivery._replace(body=message.outgoing.body), refusals.REJECTED, "subject", why)
        return message._replace(queue=PARKED, outgoing=ParkingLot(self.ports, self.lamport).outgoing(parked))

    def _ends(self, own: Job, lost: MessageRefused, found: Consequences, batch: Batch) -> None:
        """End a member that left the pack and whose arguments are *lost*, unless it has begun: it cannot run. The message is parked."""
        error = ErrorRecord(type(lost).__name__, str(lost))
        end = Outcome(
            task_id=own.command.task_id, state=states.FAILURE, nonce=self.ports.entropy.nonce(), fence=0, message_id=own.command.id,
            attempt=own.command.attempt, clock=self.lamport.forward(), name=own.command.task, at=self.ports.clock.now(), error=error,
        )  # fmt: skip
        (answer,) = self.ports.ledger.keep([end])
        if isinstance(answer, SedanoError):
            raise answer
        ended = answer.record.state if answer.record is not None else end.state
        if answer.accepted:
            tell_exit(end, own.command.tenant, batch)
            self._park(own, lost, batch)
        if own.command.member is not None and ended in states.TERMINAL:
            found.arrivals.append((own.command.member, ended != states.SUCCESS))

    def _park(self, own: Job, why: MessageRefused, batch: Batch) -> None:
        detail = f"member {own.command.task_id}: {why.detail}"
        self.ports.telemetry.log("error", "a part of a pack is lost", task_id=own.command.task_id, error=detail)
        if not batch.is_decided(own.delivery):
            batch.park(own.delivery, why.code, why.field, detail)

    def _report(self, own: Job, end: TaskRecord, judged: Judged | None, batch: Batch, hooks: EndHooks | None) -> None:
        """Report the *end* of a member. One that left without a run is reported when it runs."""
        if judged is not None and judged.verdict.state == end.state:
            tell(judged, batch, self.lamport)
        elif end.state in states.TERMINAL or end.attempt:
            tell_again(own, end, batch)
            if hooks is not None and end.state in states.TERMINAL:
                self._tell(own, end, hooks)

    def _tell(self, own: Job, end: TaskRecord, hooks: EndHooks) -> None:
        """Call *hooks* for a member that was revoked without a run, or while its attempt failed."""
        why = end.error or ErrorRecord(states.ROWS[end.state].error_type, "revoked before its attempt began")
        ended = end_of(end, own.command.id, self.ports.clock.now())._replace(name=own.command.task, error=why)
        hooks.revoked(ended, own.command, self.ports.telemetry)

    def _alone(self, job: Job, command: Command, end: TaskRecord, message_id: str = "") -> Addressed:
        """Return the command of a member that left, which is tried again as *end* says."""
        asked = command._replace(attempt=end.attempt, section=end.section)
        return self.composer.compose(CommandDraft(queue_of(job.delivery.queue), asked, delay=self._wait(end)), command.lineage, message_id)

    def _wait(self, end: TaskRecord) -> int:
        """Return the whole seconds until the next attempt of a member with this *end*."""
        return -int(-max(0.0, end.not_before - self.ports.clock.now()) // 1) if end.not_before else 0

    def _list(self, failed: Sequence[tuple[Job, TaskRecord]], lost: MessageRefused | None) -> None:
        """Put an end into the own record of each failed member too: the index of failures holds such records. Readers use the pack's, but
        for the name and the call of a member that ended with its whole pack; *lost*: why its arguments cannot be kept."""
        ends = [self._own(own, end, lost) for own, end in failed]
        for answer in self.ports.ledger.keep(ends) if ends else ():
            if isinstance(answer, SedanoError):
                raise answer

    def _own(self, own: Job, end: TaskRecord, lost: MessageRefused | None) -> Outcome:
        kept = end_of(end, own.command.id, self.ports.clock.now())._replace(fence=0, call=end.call)
        if end.name or own.command.task == PACK:  # a lost message does not even name its task
            return kept
        return kept._replace(name=own.command.task, call=self._call(own) if lost is None else None)

    def _call(self, own: Job) -> Posted | None:
        from sedano.engine.reruns import call_of

        unrun = Ran(held=Held(own, None), run=Run(), result=None, drafts=(), started=0.0, started_clock=0, ended=0.0)
        return call_of(unrun, self.ports)


def _is_rejected(end: TaskRecord | None) -> bool:
    """Return whether a body refused its message, which is parked."""
    error = end.error if end is not None and end.state == states.FAILURE else None
    return error is not None and error.type_name == Reject.__name__ and not error.cause


def _no_value() -> None:
    """Return the value that the next step of a member gets: members of packs have no next step of their own."""
