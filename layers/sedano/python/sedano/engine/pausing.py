"""Paused queues: a worker that knows of the pause gives their messages back without a look, until it learns that they go on.

Each receipt of a message is counted by its queue, and too many would set it aside. So a message is held back for longer each time, and
before its receipts come near the limit it is sent anew with a count of its own, then acknowledged: a pause may last as long as it likes.
A crash in between leaves two copies of one message, which their claim absorbs. After the pause a message comes back at the latest after
as long again as the pause has lasted for it, an hour at most.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from sedano.engine.batch import Arguments, Batch, Job, Later
from sedano.engine.containment import contain
from sedano.engine.holding import hold_back
from sedano.engine.registry import Registry
from sedano.errors import MessageRefused, SedanoError
from sedano.model import codec, refusals
from sedano.model.messages import MAP, MAP_ASYNC, Command
from sedano.model.pauses import QUEUE, Pause, in_force, pausing, queues_of
from sedano.model.serial import KEPT_S
from sedano.model.transport import queue_of
from sedano.ports import Delivery, Outgoing, Ports, command_queue

HOLD_S, HOLD_MOST_S = 30.0, 3_600.0
"""How long a message of a paused queue is held back at first, and at most; twice as long each time."""
ANEW_AFTER = 10
"""Receipts after which a message is sent anew: half of what would set it aside."""
ANEW_AFTER_UNCLAIMED = 4
"""The same for a task that is delivered without a claim, where receipts are all that tells a poison."""
DAY_S = 86_400.0
LONGER_S = 3.0
"""How much longer what keeps its place is held back each time at least: so it is received fewer than 900 times in 13 days, and SQS counts
to a thousand."""
ANEW_DELAY_S = 900
"""The longest delay that the queue knows: until then the new message is not received at all."""


def unpaused(
    ports: Ports, registry: Registry, deliveries: Sequence[Delivery], paused: Collection[str], batch: Batch
) -> list[Delivery]:  # fmt: skip
    """Return those of *deliveries* whose queue is not *paused* (texts of the control record); hold the others back, or send them anew."""
    keys = {command_queue(name) for name in queues_of(paused, ports.clock.now())}
    waiting = [delivery for delivery in deliveries if delivery.queue in keys]
    if waiting:
        ports.telemetry.count("MessagesPaused", len(waiting))
    for delivery in waiting:
        try:
            postpone(ports, delivery, _patience(ports, delivery), batch, _anew_after(registry, delivery))
        except Exception as error:  # noqa: BLE001 - the last resort
            contain(ports.telemetry, error, delivery, batch)
    return [delivery for delivery in deliveries if delivery.queue not in keys]


def going(
    ports: Ports, jobs: Sequence[Job], paused: Collection[str], batch: Batch, arguments: Callable[[Command], Arguments]
) -> list[Job]:  # fmt: skip
    """Return those of *jobs* that no pause of a task, tenant, circuit or id stops; hold the others back. What shall end unrun goes on.

    *arguments* fetches those of a command: a map is one of the task that it calls.
    """
    now, found = ports.clock.now(), []
    for job in jobs:
        circuit = job.task.circuit.name if job.task.circuit is not None else ""
        stopped = pausing(paused, _meant(job.command, arguments), circuit, now) if job.stillborn is None else None
        if stopped is None:
            found.append(job)
            continue
        batch.count("TasksPaused", job.task.name)
        put_off(ports, job, f"paused: {stopped.kind} {stopped.name}", _pause_left(ports, job, stopped, now), batch)
    return found


def stopping(
    ports: Ports, job: Job, paused: Collection[str], arguments: Callable[[Command], Arguments], now: float
) -> Later | None:  # fmt: skip
    """Return when *job* may begin if a pause of its queue, task, tenant, circuit or id stops it at *now*; None: nothing does."""
    queue, circuit = queue_of(job.delivery.queue), job.task.circuit.name if job.task.circuit is not None else ""
    found = next((one for one in in_force(paused, now) if (one.kind, one.name) == (QUEUE, queue)), None)
    found = found or pausing(paused, _meant(job.command, arguments), circuit, now)
    return Later(f"paused: {found.kind} {found.name}", _pause_left(ports, job, found, now)) if found is not None else None


def _meant(command: Command, arguments: Callable[[Command], Arguments]) -> Command:
    """Return *command*, named after the task that it calls where it is a map; what cannot be read is told where its body asks for it."""
    if command.task not in (MAP, MAP_ASYNC):
        return command
    try:
        args, _ = arguments(command._replace(gather=None))  # what it waited for is none of its own arguments
    except SedanoError:
        return command
    return command._replace(task=str(args[0])) if args else command


def put_off(ports: Ports, job: Job, reason: str, seconds: float, batch: Batch) -> None:
    """Let *job* come again in *seconds*, unrun; the history keeps the *reason*, for whoever asks why it waits."""
    tell_held(ports, job, reason, seconds, batch)
    postpone(ports, job.delivery, seconds, batch, ANEW_AFTER if job.mode == "claimed" else ANEW_AFTER_UNCLAIMED)


def tell_held(ports: Ports, job: Job, reason: str, seconds: float, batch: Batch) -> None:
    """Note in the history that *job* is held back for *seconds*, and the *reason*."""
    now = ports.clock.now()
    batch.chronicle.line(
        "task-held", job.received_clock, now, uuid=job.command.task_id, name=job.task.name, reason=reason, until=round(now + seconds, 3)
    )


def postpone(ports: Ports, delivery: Delivery, seconds: float, batch: Batch, anew_after: int = ANEW_AFTER) -> None:
    """Let *delivery* come again in *seconds*; one that was received *anew_after* times is sent with a count of its own instead.

    From a queue that keeps order nothing is sent anew, for it would lose its place: it is held back as often as it takes, and set aside
    before the queue forgets it.
    """
    if delivery.serial_key is not None:
        _keep_place(ports, delivery, seconds, batch)
    elif delivery.receives < anew_after or not _sent_anew(ports, delivery, min(int(seconds) + 1, ANEW_DELAY_S)):
        hold_back(ports, delivery, seconds, batch)
    else:
        batch.move(delivery)


def _keep_place(ports: Ports, delivery: Delivery, seconds: float, batch: Batch) -> None:
    age = ports.clock.now() - delivery.sent
    if age > KEPT_S:
        detail = f"it waited for {age / DAY_S:.0f} days in a queue that keeps order; SQS forgets it after 14"
        batch.park(delivery, refusals.STALE, "sent", detail)
    else:
        hold_back(ports, delivery, max(seconds, LONGER_S * delivery.receives), batch)


def _anew_after(registry: Registry, delivery: Delivery) -> int:
    """Return after how many receipts *delivery* is sent anew: sooner where receipts are all that tells a poison."""
    if delivery.receives < ANEW_AFTER_UNCLAIMED:
        return ANEW_AFTER
    try:
        command = codec.decode(delivery.body)
    except MessageRefused:
        return ANEW_AFTER
    if not isinstance(command, Command):
        return ANEW_AFTER
    task = registry.tasks.get(command.task)
    return ANEW_AFTER if task is None or task.mode(command) == "claimed" else ANEW_AFTER_UNCLAIMED


def _patience(ports: Ports, delivery: Delivery) -> float:
    """Return how long to wait for what may last: longer each time."""
    anew = delivery.receives >= ANEW_AFTER and delivery.serial_key is None
    seconds = ANEW_DELAY_S if anew else min(HOLD_S * 2.0 ** min(delivery.receives - 1, 20), HOLD_MOST_S)
    return seconds * (1 - ports.entropy.unit() / 4)


def _pause_left(ports: Ports, job: Job, pause: Pause, now: float) -> float:
    patience = _patience(ports, job.delivery)
    return min(patience, pause.until - now + ports.entropy.unit()) if pause.until else patience


def _sent_anew(ports: Ports, delivery: Delivery, delay: int) -> bool:
    """Send the message again with a count of its own; tell whether that was accepted, so that this one may go."""
    try:
        (error,) = ports.queues.send(delivery.queue, [Outgoing(delivery.body, delay, tenant_of(delivery.body))])
    except SedanoError as away:
        error = away
    if error is not None:
        ports.telemetry.log("warning", "paused message not sent anew", message_id=delivery.message_id, error=str(error))
    return error is None


def tenant_of(body: str) -> str | None:
    """Return whose message *body* is, if it says so: a message that is sent again stays theirs."""
    try:
        found = codec.decode(body)
    except MessageRefused:
        return None
    return found.tenant if isinstance(found, Command) else None
