"""The follow step: what a recorded outcome causes is published before the message is acknowledged.

The unacknowledged message is the outbox: a crash before or between these sends means redelivery of the same message, whose claim finds the
terminal record with its own id, and everything is published again under the same derived ids (PROTOCOLS §3.8). So nothing here needs to be
remembered, and a message is given back whenever one of its follow-ups could not be sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sedano.engine.batch import Batch, Job, Judged
from sedano.engine.drafts import Addressed, CommandDraft, Composer
from sedano.engine.joining import Ending, Joining
from sedano.engine.launching import Launch, from_args, opened
from sedano.engine.outbox import restored
from sedano.engine.publisher import Publisher
from sedano.engine.telling import tell_again
from sedano.errors import MessageRefused, SedanoError
from sedano.model import codec, refusals, states
from sedano.model.lineage import descend
from sedano.model.messages import LAUNCH, Command, Section
from sedano.model.records import TaskRecord
from sedano.model.window import Window
from sedano.ports import Ports

COMMANDS = "commands:"


@dataclass(frozen=True, slots=True)
class Following:
    """Publishes what follows."""

    ports: Ports
    composer: Composer
    publisher: Publisher
    joining: Joining
    window: Window

    def follow(self, judged: Sequence[Judged], batch: Batch) -> None:
        """Publish what follows from each outcome and acknowledge its message; give back those whose follow-ups were not accepted."""
        jobs: list[Job] = []
        endings: list[Ending] = []
        messages: list[Addressed] = []
        owners: list[Job] = []
        for one in judged:
            job = one.ran.held.job
            try:
                follows = self._follows(job, one)
            except SedanoError as error:
                self._not_followed(job, error, batch)
                continue
            jobs.append(job)
            messages += follows
            owners += [job] * len(follows)
            if job.command.member is not None and one.verdict.state in states.TERMINAL:
                endings.append(Ending(job, one.verdict.state != states.SUCCESS))
        self._settle(jobs, self._sent(endings, messages, owners), batch)

    def follow_again(self, job: Job, record: TaskRecord, batch: Batch) -> None:
        """Publish and tell again what follows from the terminal *record* that this message left behind."""
        tell_again(job, record, batch)
        try:
            messages = restored(record, self.ports.blobs)
            if record.state == states.SUCCESS and job.command.task == LAUNCH:
                messages += self._launched(job.command)
        except SedanoError as error:
            self._not_followed(job, error, batch)
            return
        endings = [Ending(job, record.state != states.SUCCESS)] if job.command.member is not None else []
        self._settle([job], self._sent(endings, messages, [job] * len(messages)), batch)

    def retry_again(self, job: Job, record: TaskRecord, batch: Batch) -> None:
        """Publish and tell again the retry that this message recorded."""
        tell_again(job, record, batch)
        wait = max(0.0, record.not_before - self.ports.clock.now())
        message = self._retry(job, record.attempt, wait, record.section)
        self._settle([job], self._sent([], [message], [job]), batch)

    def _follows(self, job: Job, judged: Judged) -> Sequence[Addressed]:
        if judged.verdict.state == states.RETRY:
            return [self._retry(job, job.command.attempt + 1, judged.verdict.pause, judged.verdict.section)]
        if job.command.task == LAUNCH and judged.verdict.state == states.SUCCESS:
            return self._launched(job.command)
        return judged.posted

    def _retry(self, job: Job, attempt: int, wait: float, section: Section | None) -> Addressed:
        command = job.command
        draft = CommandDraft(
            job.delivery.queue.removeprefix(COMMANDS), command.task_id, command.task, command.args, command.kwargs,
            -int(-wait // 1), attempt,
            command.expires, command.tenant, command.traceparent, command.ignore_result, command.member, command.gather, section,
            command.data_ref, command.stamps,
        )  # fmt: skip
        return self.composer.compose(draft, command.lineage)

    def _launched(self, command: Command) -> list[Addressed]:
        launch = self._launch(command)
        lineage = descend(command.task_id, command.lineage, len(launch.members) + 1)
        if not launch.members:
            return [self.composer.compose(launch.body, lineage)]
        self.ports.ledger.open_join(opened(launch, lineage))
        return [self.composer.compose(member, lineage) for member in launch.members]

    def _launch(self, command: Command) -> Launch:
        if command.data_ref is None:
            return from_args(command.args)
        return from_args(codec.decode_data(self.ports.blobs.get(command.data_ref))[0])

    def _sent(self, endings: Sequence[Ending], messages: Sequence[Addressed], owners: Sequence[Job]) -> dict[str, SedanoError]:
        """Arrive at joins and publish; return what went wrong, by the id of the message that it follows from."""
        if not endings and not messages:
            return {}
        joined = self.joining.arrive(endings)
        bodies = [(answer, job) for job, answer in joined if isinstance(answer, Addressed)]
        failures = {job.command.id: answer for job, answer in joined if isinstance(answer, SedanoError)}
        answers = self.publisher.publish_all([*messages, *(m for m, _ in bodies)])
        jobs = [*owners, *(job for _, job in bodies)]
        return failures | {job.command.id: error for job, error in zip(jobs, answers, strict=True) if error is not None}

    def _settle(self, jobs: Sequence[Job], failures: Mapping[str, SedanoError], batch: Batch) -> None:
        for job in jobs:
            error = failures.get(job.command.id)
            if error is not None:
                self._not_followed(job, error, batch)
            else:
                self.window.add(job.command.id)

    def _not_followed(self, job: Job, error: SedanoError, batch: Batch) -> None:
        if isinstance(error, MessageRefused):
            batch.park(job.delivery, error.code, error.field, error.detail)
            return
        batch.count("FollowUpsDelayed", job.task.name)
        self.ports.telemetry.log("warning", "follow-ups not sent; the message comes back", task_id=job.command.task_id, error=str(error))
        spent = job.stillborn
        if spent is not None and spent.code == refusals.EXECUTIONS:
            batch.park(job.delivery, spent.code, spent.field, f"{spent.detail}; its follow-ups cannot be sent: {error}")
        else:
            batch.give_back(job.delivery)
