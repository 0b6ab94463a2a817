"""The follow step: the follow-ups of a recorded outcome are published before the message is acknowledged.

The unacknowledged message is the outbox: a crash before or between these sends means redelivery of the same message, whose claim finds the
terminal record with its own id, and everything is published again under the same derived ids (PROTOCOLS §3.8). So no state is needed here,
and a message is given back whenever one of its follow-ups could not be sent.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sedano.engine.batch import Batch, Carrier, Job, Judged
from sedano.engine.canvas.continuation import Conducting, Consequences, Cut
from sedano.engine.canvas.join_arrivals import Ending, Joining
from sedano.engine.drafts import Addressed, Composer
from sedano.engine.history.run_events import tell_again, tell_exit
from sedano.engine.outbox import restored
from sedano.engine.publisher.sender import Publisher
from sedano.engine.redelivery import hold_back
from sedano.engine.unexpected_errors import is_early, unexpected
from sedano.engine.worker.end_hooks import EndHooks
from sedano.engine.worker.next_attempt import attempt_message
from sedano.engine.worker.pack_follow_ups import PackFollowUps
from sedano.errors import MessageRefused, Reject, SedanoError, UnknownQueue
from sedano.model import refusals, states
from sedano.model.inline_links import inline_id
from sedano.model.ledger.recent_ids import Window
from sedano.model.ledger.records import ErrorRecord, Outcome, Recorded, TaskRecord, copied_from
from sedano.model.messages.message import LAUNCH, PACK, Command, Section
from sedano.model.states import TaskState
from sedano.ports import Ports

REJECT = Reject.__name__


@dataclass(slots=True)
class Due:
    """The follow-ups of a batch, each with its job."""

    messages: list[Addressed] = field(default_factory=list)
    owners: list[Job] = field(default_factory=list)
    endings: list[Ending] = field(default_factory=list)
    exits: list[tuple[Job, Outcome]] = field(default_factory=list)
    rejected: dict[str, str] = field(default_factory=dict)
    """The reason for which the body of a message refused it, by the message's id."""
    announced: set[str] = field(default_factory=set)
    """The tasks whose ends the hooks have been called for. A repetition of the step calls them for none of these again."""

    @property
    def jobs(self) -> dict[str, Job]:
        """The jobs with follow-ups, by the id of their message."""
        found = (*self.owners, *(ending.job for ending in self.endings), *(job for job, _ in self.exits))
        return {job.command.id: job for job in found}

    def of(self, message_id: str) -> Due:
        """Return the follow-ups of the message with this id."""
        sent = [(m, job) for m, job in zip(self.messages, self.owners, strict=True) if job.command.id == message_id]
        endings = [ending for ending in self.endings if ending.job.command.id == message_id]
        exits = [(job, outcome) for job, outcome in self.exits if job.command.id == message_id]
        return Due([message for message, _ in sent], [job for _, job in sent], endings, exits, announced=self.announced)

    def add(self, job: Job, found: Consequences) -> None:
        """Add the follow-ups of *job*."""
        self.messages += found.messages
        self.owners += [job] * len(found.messages)
        self.endings += [Ending(job, member, failed) for member, failed in found.arrivals]
        self.exits += [(job, outcome) for outcome in found.exits]

    def reject(self, job: Job, error: ErrorRecord | None) -> None:
        """Note that *job* failed with *error*; if its own body raised `Reject`, its message is parked after its follow-ups."""
        if error is not None and error.type_name == REJECT and not error.cause:
            self.rejected[job.command.id] = error.message or "its task refused it"


@dataclass(frozen=True, slots=True)
class Following:
    """Publishes follow-ups."""

    ports: Ports
    composer: Composer
    publisher: Publisher
    conducting: Conducting
    joining: Joining
    window: Window
    packs: PackFollowUps
    hooks: EndHooks | None = None

    def follow(self, judged: Sequence[Judged], batch: Batch) -> None:
        """Publish the follow-ups of each outcome and acknowledge its message; give back messages whose follow-ups were not accepted."""
        jobs: list[Job] = []
        due = Due()
        for one in judged:
            job = one.ran.held.job
            if one.verdict.state == states.FAILURE:
                due.reject(job, one.ran.run.error)
            if job.delivery.serial_key is not None and one.verdict.state == states.RETRY:
                hold_back(self.ports, job.delivery, one.verdict.pause, batch)  # a message of its own would come after those behind it
                continue
            if not one.posted and _is_last(job.command, one.verdict.state):
                jobs.append(job)
                continue
            try:
                due.add(job, self._follows(job, one, batch))
            except Exception as error:  # noqa: BLE001 - the last resort
                self._not_followed(job, unexpected(self.ports.telemetry, error), batch)
                continue
            jobs.append(job)
        if batch.carrier is not None and due.messages:
            self._keep(due, judged[0].verdict.state, batch.carrier, alone=not judged[0].posted)
        self._settle(jobs, self._sent_apart(due, batch), due.rejected, batch)

    def follow_again(self, job: Job, record: TaskRecord, batch: Batch) -> None:
        """Publish and report the follow-ups of the terminal *record* of this message again."""
        is_pack = job.command.task == PACK
        if not is_pack:
            tell_again(job, record, batch)
        due = Due()
        if record.state == states.FAILURE:
            due.reject(job, record.error)
        try:
            if is_pack:
                found = self.packs.found(job, (), batch)
            else:
                found = self._ended(job, record.state, lambda: self.conducting.gathering.value(record), record.error, record.added)
                found.messages = [*restored(record, self.ports.blobs), *found.messages]
            due.add(job, found)
        except Exception as error:  # noqa: BLE001 - the last resort
            self._not_followed(job, unexpected(self.ports.telemetry, error), batch)
            return
        if batch.carrier is not None and due.messages:
            self._keep(due, record.state, batch.carrier, alone=not record.outbox and record.outbox_ref is None)
        self._settle([job], self._sent_apart(due, batch), due.rejected, batch)

    def arrive_again(self, job: Job, record: TaskRecord, batch: Batch) -> None:
        """Let the member of *job* arrive with the terminal *record* of its task, which a message of another canvas wrote."""
        due, found, member = Due(), Consequences(), job.command.member
        try:
            self.conducting.copied(job, found)
            found.arrivals += [(member, record.state != states.SUCCESS)] if member is not None else []
            due.add(job, found)
        except Exception as error:  # noqa: BLE001 - the last resort
            self._not_followed(job, unexpected(self.ports.telemetry, error), batch)
            return
        self._settle([job], self._sent_apart(due, batch), {}, batch)

    def retry_again(self, job: Job, record: TaskRecord, batch: Batch) -> None:
        """Publish and report again the retry that this message recorded, or the replacement of its task."""
        tell_again(job, record, batch)
        wait = max(0.0, record.not_before - self.ports.clock.now())
        due = Due()
        try:
            instead = restored(record, self.ports.blobs)
            if record.error is not None:  # the recorded next attempt, which waits for the rest of its pause
                instead = [one._replace(outgoing=one.outgoing._replace(delay=-int(-wait // 1))) for one in instead]
            due.add(job, Consequences(instead or [self._retry(job, record.attempt, wait, record.section)]))
        except Exception as error:  # noqa: BLE001 - the last resort
            self._not_followed(job, unexpected(self.ports.telemetry, error), batch)
            return
        self._settle([job], self._sent_apart(due, batch), {}, batch)

    def _follows(self, job: Job, judged: Judged, batch: Batch) -> Consequences:
        state = judged.verdict.state
        if job.command.task == PACK:
            return self.packs.found(job, judged.ran.members, batch, self.hooks)
        if state == states.RETRY and (judged.ran.run.replaced or judged.posted):
            return Consequences(list(judged.posted))
        if state == states.RETRY:
            return Consequences([self._retry(job, job.command.attempt + 1, judged.verdict.pause, judged.verdict.section)])
        found = self._ended(job, state, lambda: judged.ran.run.value, judged.ran.run.error, judged.ran.added)
        found.messages = [*judged.posted, *found.messages]
        return found

    def _keep(self, due: Due, state: TaskState, carrier: Carrier, *, alone: bool) -> None:
        """Remove from *due* the next link of a chain that runs inline: the only follow-up of a task that succeeded. *alone*: its body has
        published nothing."""
        others = due.endings or due.exits
        if alone and state == states.SUCCESS and not others and carrier.keep(due.owners[0], due.messages):
            due.messages.clear()
            due.owners.clear()

    def _ended(self, job: Job, state: TaskState, value: Callable[[], Any], error: ErrorRecord | None, added: int) -> Consequences:
        command = job.command
        if _is_last(command, state):
            return Consequences()
        if state == states.SUCCESS:
            return self.conducting.succeeded(job, value, added)
        return self.conducting.failed(job, state, error)

    def _retry(self, job: Job, attempt: int, wait: float, section: Section | None) -> Addressed:
        return attempt_message(self.composer, job, attempt, wait, section)

    def _sent_apart(self, due: Due, batch: Batch) -> dict[str, SedanoError]:
        """Return the failures, as `_sent` does. If it raises, repeat it for each job alone (see `unexpected_errors`)."""
        try:
            return self._sent(due, batch)
        except Exception as error:  # noqa: BLE001 - the last resort
            answer = unexpected(self.ports.telemetry, error)
        if len(due.jobs) == 1:
            return dict.fromkeys(due.jobs, answer)
        failures: dict[str, SedanoError] = {}
        for message_id in due.jobs:
            failures |= self._sent_apart(due.of(message_id), batch)
        return failures

    def _sent(self, due: Due, batch: Batch) -> dict[str, SedanoError]:
        """Record exits, arrive at joins and publish; return the failures, by the id of the message whose follow-ups failed."""
        failures = self._exits(due.exits, due.announced, batch) if due.exits else {}
        if not due.endings and not due.messages:
            return failures
        joined = self.joining.arrive([e for e in due.endings if e.job.command.id not in failures])
        cuts = [(job, answer) for job, answer in joined if isinstance(answer, Cut)]
        failures |= self._cut(cuts, batch) if cuts else {}
        bodies = [(answer, job) for job, answer in joined if isinstance(answer, Addressed)]
        failures |= {job.command.id: answer for job, answer in joined if isinstance(answer, SedanoError)}
        answers = self.publisher.publish_all([*due.messages, *(m for m, _ in bodies)])
        jobs = [*due.owners, *(job for _, job in bodies)]
        failures |= {job.command.id: error for job, error in zip(jobs, answers, strict=True) if error is not None}
        return _with_the_represented(failures, ((job.command.id, answer.command.id) for job, answer in joined if isinstance(answer, Job)))

    def _cut(self, cuts: Sequence[tuple[Job, Cut]], batch: Batch) -> dict[str, SedanoError]:
        """Record the ends of bodies whose plans are lost, and publish the follow-ups of the recorded ones: if a body began nevertheless,
        nothing is cut."""
        try:
            answers: Sequence[Any] = self.ports.ledger.keep([cut.end for _, cut in cuts])
        except SedanoError as error:
            answers = [error] * len(cuts)
        failures: dict[str, SedanoError] = {}
        due = Due()
        for (job, cut), answer in zip(cuts, answers, strict=True):
            if isinstance(answer, SedanoError):
                failures[job.command.id] = answer
            elif _stands(answer):
                self._tell_cut(job, cut, answer, batch)
                due.add(job, cut.found)
        return failures | self._sent(due, batch)

    def _tell_cut(self, job: Job, cut: Cut, answer: Recorded, batch: Batch) -> None:
        end = cut.end if answer.record is None else cut.end._replace(clock=answer.record.clock)
        tell_exit(end, job.command.tenant, batch)
        if not answer.accepted:
            return
        batch.count("CanvasesCut", job.task.name)
        why = end.error.message if end.error is not None else ""
        self.ports.telemetry.log("error", "the plan of a canvas is lost; the steps after its group end", task_id=end.task_id, error=why)

    def _exits(self, exits: Sequence[tuple[Job, Outcome]], announced: set[str], batch: Batch) -> dict[str, SedanoError]:
        """Record the ends of tasks that will never run, before they are reported. The ledger accepts the same end again, so the hooks are
        called only for tasks that were not *announced*."""
        try:
            answers: Sequence[Any] = self.ports.ledger.keep([outcome for _, outcome in exits])
        except SedanoError as error:
            answers = [error] * len(exits)
        for (job, outcome), answer in zip(exits, answers, strict=True):
            if isinstance(answer, Recorded):
                record = answer.record
                told, mine = copied_from(outcome) == outcome.task_id, (job.command.id, inline_id(job.command))
                if told and (answer.accepted or (record is not None and record.message_id in mine)):
                    tell_exit(outcome if record is None else outcome._replace(clock=record.clock), job.command.tenant, batch)
                if told and answer.accepted and self.hooks is not None and outcome.task_id not in announced:
                    announced.add(outcome.task_id)
                    self.hooks.revoked(outcome, job.command, self.ports.telemetry)
        return {job.command.id: answer for (job, _), answer in zip(exits, answers, strict=True) if isinstance(answer, SedanoError)}

    def _settle(self, jobs: Sequence[Job], failures: Mapping[str, SedanoError], rejected: Mapping[str, str], batch: Batch) -> None:
        finish = self.window.add if batch.carrier is None else batch.carrier.finished.append
        for job in jobs:
            error = failures.get(job.command.id)
            if error is not None:
                self._not_followed(job, error, batch)
            elif job.command.id in rejected:
                # Not in the window: if it cannot be parked now it is delivered again, to be followed and parked again.
                batch.park(job.delivery, refusals.REJECTED, "subject", rejected[job.command.id])
            else:
                finish(job.command.id)

    def _not_followed(self, job: Job, error: SedanoError, batch: Batch) -> None:
        if isinstance(error, MessageRefused) and not is_early(error, job.delivery):
            batch.park(job.delivery, error.code, error.field, error.detail)
            return
        batch.count("FollowUpsDelayed", job.task.name)
        self.ports.telemetry.log("warning", "follow-ups not sent; message is redelivered", task_id=job.command.task_id, error=str(error))
        spent = job.stillborn
        if spent is not None and spent.code == refusals.EXECUTIONS:
            batch.park(job.delivery, spent.code, spent.field, f"{spent.detail}; its follow-ups cannot be sent: {error}")
        elif isinstance(error, MessageRefused | UnknownQueue):
            # An adapter raised what no rule foresaw, or this deployment lacks the queue: no outage, so the receipts count.
            batch.give_back(job.delivery)
        else:
            batch.defer_job(job, error, ran=True)


def _stands(answer: Recorded) -> bool:
    """Return whether the end of a body that could not be published is recorded, now or before, or its id was revoked."""
    record = answer.record
    return answer.accepted or (record is not None and record.state in states.TERMINAL and record.message_id == "")


def _with_the_represented(failures: dict[str, SedanoError], represented: Iterable[tuple[str, str]]) -> dict[str, SedanoError]:
    """Return *failures* and those of the messages that are *represented* (each with the one that answers for it) by one that failed.

    A message may be represented at several joins. A circle is possible: it represents itself where it ended several members of one join,
    and two messages may represent each other at two joins. So each failure is passed once to those that it represents.
    """
    of: dict[str, list[str]] = defaultdict(list)
    for message, by in represented:
        of[by].append(message)
    failed = deque(failures)
    while failed:
        by = failed.popleft()
        for message in of.pop(by, ()):
            if message not in failures:
                failures[message] = failures[by]
                failed.append(message)
    return failures


def _is_last(command: Command, state: TaskState) -> bool:
    """Return whether *command*, which ended as *state*, has no follow-ups except its body's publications, as most tasks."""
    return command.place is None and command.member is None and command.task not in (LAUNCH, PACK) and state != states.RETRY
