"""The first step of the worker: decode each message and admit it, discard it as an exact copy, give it back, or park it. A message that
can never run here is parked with its reason, never dropped. One that another version of this deployment may know (a task name, a newer
protocol) is given back for a while first: during a deployment old and new workers read the same queue.
"""

from __future__ import annotations

from typing import NamedTuple

from sedano.engine.batch import Batch, Job
from sedano.engine.canvas.map_tasks import built_in
from sedano.engine.lineage_marks import granted
from sedano.engine.redelivery import FOREIGN_HOLD_S, FOREIGN_RECEIVES, refuse, unknown
from sedano.engine.registry import Registry
from sedano.engine.schedules.instance_limits import limited
from sedano.engine.unexpected_errors import contain
from sedano.engine.worker.admission import Admission
from sedano.errors import MessageRefused
from sedano.model import refusals
from sedano.model.ledger.recent_ids import Window
from sedano.model.messages import codec
from sedano.model.messages.lamport import ClockAhead, LamportClock, agrees
from sedano.model.messages.message import Command
from sedano.model.tasks.task_spec import hindrance
from sedano.ports import Delivery, Ports

UNKNOWN = "unknown"
"""The metric's name for a task that this app does not declare: dimensions of metrics are names of the registry, never text of a message."""


class Intake(NamedTuple):
    """Admits messages."""

    registry: Registry
    ports: Ports
    lamport: LamportClock
    window: Window
    admission: Admission

    def open(self, deliveries: list[Delivery], batch: Batch) -> list[Job]:
        """Return the jobs that may continue; the rest of *deliveries* is decided in *batch*."""
        now = self.ports.clock.now()
        jobs: list[Job] = []
        seen: set[str] = set()
        for delivery in deliveries:
            try:
                job = self._admit(delivery, batch, now, seen)
            except MessageRefused as refused:
                refuse(self.ports, delivery, refused, batch)
                continue
            except Exception as error:  # noqa: BLE001 - the last resort
                contain(self.ports.telemetry, error, delivery, batch)
                continue
            if job is not None:
                jobs.append(job)
        return jobs

    def echo(self, batch: Batch) -> None:
        """Treat each exact copy within *batch* as the first one: discard it if the first was finished, else give it back.

        Discarding it earlier could lose the task: two workers may hold both copies, in different orders, and finish none of them.
        """
        for command, delivery in batch.echoes:
            if command.id in self.window:
                self._discard(command, batch, self.ports.clock.now())
            else:
                batch.give_back(delivery)

    def _admit(self, delivery: Delivery, batch: Batch, now: float, seen: set[str]) -> Job | None:
        command = codec.decode(delivery.body)
        if type(command) is not Command:
            raise MessageRefused(refusals.SCHEMA, "type", "a command queue takes commands only")
        clock = self._adjust(command, delivery, batch)
        if clock is None:
            return None
        if command.id in self.window:
            self._discard(command, batch, now)
            return None
        if command.id in seen:
            batch.echoes.append((command, delivery))
            return None
        seen.add(command.id)
        task = self.registry.tasks.get(command.task) or built_in(self.registry, command.task)
        task = task or limited(self.registry, self.ports, self.lamport, command.task)
        if task is None:
            raise self._unknown(delivery, command, batch, now, clock)
        if delivery.serial_key is not None and (why := hindrance(task)):
            raise MessageRefused(refusals.ORDER, "subject", why)
        if not command.time or command.lineage.budget > self.ports.most_budget:
            command = self._completed(command, delivery.sent or now)
        job = Job(delivery, command, task, received=now, received_clock=clock, mode=task.mode(command))
        return self._opened(job)

    def _opened(self, job: Job) -> Job:
        """Return *job* after the gates, with the end from the first gate that refuses it."""
        for gate in self.admission.opening:
            ended = gate.open(job)
            if ended is not None:
                return job._replace(stillborn=ended)
        return job

    def _completed(self, command: Command, sent: float) -> Command:
        """Return *command* with the time at which it was *sent*, if it has none, and with the budget that the stage grants it."""
        if command.lineage.budget > self.ports.most_budget:
            command = command._replace(lineage=granted(self.ports, command.lineage, command.task_id, command.task))
        return command if command.time else command._replace(time=sent)

    def _unknown(self, delivery: Delivery, command: Command, batch: Batch, now: float, clock: int) -> MessageRefused:
        """Return the refusal of an unknown task; while another version may know it, note in the history why it waits."""
        why = unknown("task", command.task, self.registry.tasks)
        if delivery.receives < FOREIGN_RECEIVES:
            until = round(now + FOREIGN_HOLD_S, 3)
            batch.chronicle.line("task-held", clock, now, uuid=command.task_id, name=command.task, reason=why, until=until)
        return MessageRefused(refusals.UNKNOWN_TASK, "subject", why)

    def _adjust(self, command: Command, delivery: Delivery, batch: Batch) -> int | None:
        """Merge the command's clock and return this worker's; None if this worker's clock is wrong and another worker must run the command.

        Three times are compared: the message's clock, this worker's clock, and the moment at which SQS accepted the message. A message
        ahead of both is refused. If it is ahead of this worker but not of SQS, this worker is more than five minutes behind: the
                message is sent again, and the alarm on `ClocksWrong` fires.
        """
        try:
            return self.lamport.adjust(command.clock)
        except ClockAhead as ahead:
            if not agrees(command.clock, delivery.sent):
                raise MessageRefused(refusals.CLOCK_AHEAD, "clock", str(ahead)) from None
            batch.defer(delivery, f"the clock of a worker is wrong: {ahead}", command)
            self.ports.telemetry.count("ClocksWrong")
            self.ports.telemetry.log("error", "the clock of this worker is wrong", behind=round(delivery.sent - self.ports.clock.now(), 1))
            return None

    def _discard(self, command: Command, batch: Batch, now: float) -> None:
        batch.count("Duplicates", command.task if command.task in self.registry.tasks else UNKNOWN)
        batch.chronicle.line("message-duplicate", self.lamport.forward(), now, uuid=command.task_id, name=command.task, absorbed="window")
        self.ports.telemetry.log("warning", "duplicate message discarded", message_id=command.id, task_id=command.task_id)
