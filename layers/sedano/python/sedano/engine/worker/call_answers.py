"""Direct calls at the worker: one command that arrives without a queue, through the same pipeline as all others, and its answer.

The task has its whole life: its claim and its fence, its limits, revocation, retries, history. A task that cannot run at once (a pause, a
limit, a claim of another worker) waits in its queue, as if it had been published. So a call is refused, or, once it is answered, as safe as
any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sedano.engine.batch import Batch, Judged, Ran
from sedano.engine.redelivery import unknown
from sedano.engine.worker.end_reports import Listener
from sedano.engine.worker.pipeline import Worker
from sedano.errors import MessageRefused, SedanoError
from sedano.model import refusals, states
from sedano.model.direct_calls import AWAY, MOST_RESULT, UNSEALED, DirectAnswer, DirectCall, answer_of, audience, call_of, ended, may_follow
from sedano.model.history.run_rows import Chronicle
from sedano.model.ledger.records import TaskRecord
from sedano.model.messages import codec
from sedano.model.messages.message import Command
from sedano.ports import Delivery, Outgoing, command_queue


@dataclass(slots=True)
class CallBatch(Batch):
    """The batch of one call. It notes how its task *ended*, with its result, even one that is kept nowhere or elsewhere; and why it was
    *refused*; and whether it *published* anything. *listener* hears of its run as of any other."""

    listener: Listener | None = None
    published: bool = False
    ended: TaskRecord | None = None
    refused: tuple[str, str, str] | None = None

    def note(self, ran: Ran, judged: Judged | None) -> None:
        """Note the end of the task's run; None: it could not be recorded."""
        if self.listener is not None:
            self.listener(ran, judged)
        if judged is None:
            return
        self.published = bool(judged.posted) and judged.verdict.state in states.TERMINAL
        command, outcome, end = ran.held.job.command, judged.outcome, judged.ran
        record = ended(outcome) if outcome is not None else TaskRecord(
            command.task_id, judged.verdict.state, attempt=command.attempt, message_id=command.id, name=command.task, error=end.run.error,
        )  # fmt: skip
        travels = end.result is not None and len(end.result) <= MOST_RESULT
        self.ended = record._replace(result=end.result, result_ref=None) if travels else record

    def park(self, delivery: Delivery, code: str, field_name: str, detail: str) -> None:
        """Park the message when the batch ends, and note why."""
        Batch.park(self, delivery, code, field_name, detail)
        self.refused = (code, field_name, detail)


class CallAnswers:
    """Answers direct calls with one worker, while it has no other batch in work."""

    def __init__(self, worker: Worker, tasks: Mapping[str, Any]) -> None:
        """Answer calls of *tasks*, the tasks of the app by their names."""
        self._worker, self._ports, self._tasks = worker, worker.ports, tasks

    def answer(self, event: Any, deadline: float) -> dict[str, Any]:
        """Return the answer to the call in *event*, whose task may run until *deadline* (epoch s)."""
        try:
            call = call_of(event)
            self._verify(call)
            command = self._command(call)
        except MessageRefused as refused:
            self._ports.telemetry.count("DirectCallsRefused", reason=refused.code)
            self._ports.telemetry.log("warning", "direct call refused", reason=refused.code, field=refused.field, detail=refused.detail)
            self._ports.telemetry.flush()
            return answer_of(DirectAnswer(refused=(refused.code, refused.field, refused.detail)))
        return answer_of(self._run(call, command, deadline))

    def _verify(self, call: DirectCall) -> None:
        why = self._ports.seals.refusal(call.seal, call.body.encode("utf-8", "surrogatepass"), audience(call.queue))
        if why is not None:
            raise MessageRefused(UNSEALED, "seal", why)

    def _command(self, call: DirectCall) -> Command:
        """Return the command of *call*; what could never run is refused here, where its caller hears of it, and is not parked."""
        command = codec.decode(call.body)
        if type(command) is not Command:
            raise MessageRefused(refusals.SCHEMA, "type", "a worker takes commands only")
        if command.task not in self._tasks:
            raise MessageRefused(refusals.UNKNOWN_TASK, "subject", unknown("task", command.task, self._tasks))
        return command

    def _run(self, call: DirectCall, command: Command, deadline: float) -> DirectAnswer:
        delivery = Delivery(command_queue(call.queue), command.id, "", call.body, sent=self._ports.clock.now())
        batch = CallBatch(deadline, Chronicle(self._worker.host), listener=self._worker.recording.listener)
        self._worker.recording.listener = batch.note
        try:
            left = self._worker.work([delivery], deadline, batch)
        finally:
            self._worker.recording.listener = batch.listener
        if left:
            return self._queued(delivery, command)
        if batch.published:
            self._follow(command)
        if batch.ended is not None:
            return DirectAnswer(batch.ended)
        if batch.refused is not None:
            return DirectAnswer(refused=batch.refused)
        record = self._known(command)
        if record is not None and may_follow(record, command.id):
            self._follow(command)
        return DirectAnswer(record)

    def _follow(self, command: Command) -> None:
        """Note that everything was sent that follows the end of *command*: another call with its id sends nothing more."""
        try:
            self._ports.ledger.follow(command.task_id, command.id)
        except SedanoError as error:
            self._ports.telemetry.log("warning", "follow-ups not noted", task_id=command.task_id, error=str(error))

    def _queued(self, delivery: Delivery, command: Command) -> DirectAnswer:
        """Send what could not run now to its queue; another worker may be running it, so the answer is what the ledger knows."""
        message = Outgoing(delivery.body, tenant=command.tenant)
        try:
            (error,) = self._ports.queues.send(delivery.queue, [message])
        except SedanoError as away:
            error = away
        if error is not None:
            return DirectAnswer(refused=(AWAY, "queue", f"it cannot run now, and its queue did not take it: {error}"))
        return DirectAnswer(self._known(command))

    def _known(self, command: Command) -> TaskRecord | None:
        """Return the record of the task; None if it has none, or cannot be read now: its caller will read it."""
        try:
            return self._ports.ledger.read([command.task_id]).get(command.task_id)
        except SedanoError:
            return None
