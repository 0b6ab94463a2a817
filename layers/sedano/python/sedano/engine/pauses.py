"""Pauses: a worker that knows of a pause gives the messages back without decoding them, until it reads that the pause has ended.

A waiting message is sent again with a delay and acknowledged (`sedano.engine.deferrals`): it is not in flight while it waits, its receipts
are never counted out, and a pause may last for any time. After the pause a message arrives at the latest after as long again as it has
waited, 900 s at most. Only a claimed task's wait of at most 30 s, and a message that waits to be woken, stays in flight.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from sedano.engine.batch import Arguments, Batch, Job, Later
from sedano.engine.cluster.membership import Membership
from sedano.engine.deferrals import stale
from sedano.engine.gate import Gate
from sedano.engine.redelivery import ANEW_AFTER, hold_back
from sedano.engine.unexpected_errors import contain
from sedano.errors import SedanoError
from sedano.model.deferrals import SHORT_S, patience, waited
from sedano.model.messages.message import MAP, MAP_ASYNC, PACK, Command
from sedano.model.pauses import QUEUE, Pause, in_force, pausing, queues_of
from sedano.model.queues import queue_of
from sedano.ports import Delivery, Ports, command_queue

HOLD_S = 40.0
"""How long (s) a message waits at first during a pause, up to a quarter less at random: longer than any wait in flight. Twice as long each
time, at most 900 s."""


class Pauses(Gate):
    """Holds back paused messages: those of a queue before decoding, those of a task, tenant, circuit or id before the claim and the
    body."""

    def __init__(self, ports: Ports, membership: Membership, arguments: Callable[[Command], Arguments]) -> None:
        """Use the pauses that *membership* has read; *arguments* fetches those of a command, because a map counts as the task that it
        calls."""
        self._ports, self._membership, self._arguments = ports, membership, arguments

    def sift(self, deliveries: Sequence[Delivery], batch: Batch) -> Sequence[Delivery]:
        """Return those of *deliveries* whose queue is not paused; hold the others back, or send them again."""
        paused, ports = self._membership.control.paused, self._ports
        if not paused:
            return deliveries
        keys = {command_queue(name) for name in queues_of(paused, ports.clock.now())}
        waiting = [delivery for delivery in deliveries if delivery.queue in keys]
        if waiting:
            ports.telemetry.count("MessagesPaused", len(waiting))
        for delivery in waiting:
            try:
                postpone(ports, delivery, _patience(ports, delivery), batch)
            except Exception as error:  # noqa: BLE001 - the last resort
                contain(ports.telemetry, error, delivery, batch)
        return [delivery for delivery in deliveries if delivery.queue not in keys]

    def admit(self, jobs: Sequence[Job], batch: Batch) -> Sequence[Job]:
        """Return those of *jobs* that no pause of a task, tenant, circuit or id stops, or that must end unrun; hold the others back."""
        paused, ports = self._membership.control.paused, self._ports
        if not any("=" in one for one in paused):
            return jobs
        now, found = ports.clock.now(), []
        for job in jobs:
            stopped = pausing(paused, _meant(job.command, self._arguments), _circuit(job), now) if job.stillborn is None else None
            if stopped is None:
                found.append(job)
                continue
            batch.count("TasksPaused", job.task.name)
            put_off(ports, job, f"paused: {stopped.kind} {stopped.name}", _pause_left(ports, job, stopped, now), batch)
        return found

    def begin(self, job: Job, now: float, anew: Collection[str] | None) -> Later | None:
        """Return when *job* may begin if a pause of its queue, task, tenant, circuit or id, read *anew*, stops it at *now*."""
        paused = self._membership.control.paused
        if anew is None or not paused:
            return None
        queue = queue_of(job.delivery.queue)
        found = next((one for one in in_force(paused, now) if (one.kind, one.name) == (QUEUE, queue)), None)
        found = found or pausing(paused, _meant(job.command, self._arguments), _circuit(job), now)
        return Later(f"paused: {found.kind} {found.name}", _pause_left(self._ports, job, found, now)) if found is not None else None


def _circuit(job: Job) -> str:
    return job.task.circuit.name if job.task.circuit is not None else ""


def _meant(command: Command, arguments: Callable[[Command], Arguments]) -> Command:
    """Return *command*, named after the task that it calls if it is a map or a pack; an unreadable one is reported where its body is read.
    """
    if command.task not in (MAP, MAP_ASYNC, PACK):
        return command
    try:
        args, _ = arguments(command._replace(gather=None))  # what it waited for is none of its own arguments
    except SedanoError:
        return command
    return command._replace(task=str(args[0])) if args else command


def put_off(ports: Ports, job: Job, reason: str, seconds: float, batch: Batch) -> None:
    """Defer *job* by *seconds*, unrun; the history keeps the *reason*, for `explain`."""
    tell_held(ports, job, reason, seconds, batch)
    if job.mode == "claimed" and job.delivery.serial_key is None and seconds <= SHORT_S and job.delivery.receives < ANEW_AFTER:
        hold_back(ports, job.delivery, seconds, batch)
    else:
        postpone(ports, job.delivery, seconds, batch)


def may_be_woken(job: Job) -> bool:
    """Return whether *job* may wait in flight until it is woken: at most ten messages of a permit board or lease do.

    A task without a claim may not, because its receipts must not count waits; nor one that was woken too often without effect, nor one that
    came from no queue.
    """
    return job.mode == "claimed" and job.delivery.receives < ANEW_AFTER and bool(job.delivery.receipt)


def times_of(delivery: Delivery) -> int:
    """Return how often *delivery* has waited, according to its attributes."""
    return waited(delivery.attributes).times + delivery.receives - 1


def tell_held(ports: Ports, job: Job, reason: str, seconds: float, batch: Batch) -> None:
    """Note in the history that *job* is held back for *seconds*, and the *reason*."""
    now = ports.clock.now()
    batch.chronicle.line(
        "task-held", job.received_clock, now, uuid=job.command.task_id, name=job.task.name, reason=reason, until=round(now + seconds, 3)
    )


def postpone(ports: Ports, delivery: Delivery, seconds: float, batch: Batch) -> None:
    """Send *delivery* again with a delay of *seconds*; in a queue that keeps order it is hidden, and parked before the queue deletes it.
    """
    if not stale(ports, delivery, batch):
        batch.defer(delivery, seconds=seconds)


def _patience(ports: Ports, delivery: Delivery) -> float:
    """Return how long to wait for a pause of unknown length: longer each time."""
    return patience(times_of(delivery), HOLD_S) * (1 - ports.entropy.unit() / 4)


def _pause_left(ports: Ports, job: Job, pause: Pause, now: float) -> float:
    patience = _patience(ports, job.delivery)
    return min(patience, pause.until - now + ports.entropy.unit()) if pause.until else patience
