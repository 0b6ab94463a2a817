"""Requeues messages that must wait: sends them again with a delay, and with their current facts in their attributes.

No message waits in a worker, and workers do not poll: a message that has its slot is received again in the slot. It is sent, then
the one that was received is acknowledged; a crash in between leaves two copies of one message, which their claim absorbs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sedano.engine.batch import Batch, Job
from sedano.errors import SedanoError
from sedano.ports import Outgoing, Ports


class Requeued(NamedTuple):
    """A job that continues at *at* (epoch s), with these additional *attributes*; *reason*: why it waits."""

    job: Job
    at: float
    attributes: Mapping[str, str]
    reason: str


def resend(ports: Ports, waiting: Sequence[Requeued], batch: Batch) -> None:
    """Send all of *waiting* again; messages that the queue does not accept are given back. The queue's longest delay bounds each wait."""
    by_queue: dict[str, list[Requeued]] = {}
    for later in waiting:
        by_queue.setdefault(later.job.delivery.queue, []).append(later)
    for queue, some in by_queue.items():
        _resend(ports, queue, some, batch)


def _resend(ports: Ports, queue: str, waiting: Sequence[Requeued], batch: Batch) -> None:
    now = ports.clock.now()
    try:
        answers = ports.queues.send(queue, [_outgoing(later, now, ports.queues.bounds.max_delay) for later in waiting])
    except SedanoError as away:
        answers = [away] * len(waiting)
    for later, error in zip(waiting, answers, strict=True):
        job = later.job
        if error is not None:
            ports.telemetry.log("warning", "waiting message not sent again", task_id=job.command.task_id, error=str(error))
            batch.defer_job(job, error)
            continue
        batch.move(job.delivery)
        batch.count("TasksHeld", job.task.name)
        batch.chronicle.line(
            "task-held",
            job.received_clock,
            now,
            uuid=job.command.task_id,
            name=job.task.name,
            reason=later.reason,
            until=round(later.at, 3),
        )


def _outgoing(later: Requeued, now: float, most: int) -> Outgoing:
    delay = min(max(0, -int(-(later.at - now) // 1)), most)
    delivery = later.job.delivery
    return Outgoing(delivery.body, delay, later.job.command.tenant, {**delivery.attributes, **later.attributes})
