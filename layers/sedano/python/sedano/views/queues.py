"""The command queues: how much waits and runs in each, its limit and its pause."""

from __future__ import annotations

from typing import NamedTuple

from sedano.app import Sedano
from sedano.model import pauses
from sedano.model.cluster.control_record import ControlRecord
from sedano.ports import command_queue
from sedano.ports.absent import has
from sedano.views.reader import About, Reader


class QueueRow(NamedTuple):
    """A command queue: messages that *wait* and that *run*, how many invocations it may have (None: unknown), whether it is *paused*."""

    queue: str
    wait: int
    run: int
    invocations: int | None
    paused: bool


class QueuesView(NamedTuple):
    """The command queues of an app, in the order of its declaration."""

    rows: tuple[QueueRow, ...]
    about: About


def queues(app: Sedano) -> QueuesView:
    """Return the command queues of *app* as they are now; the numbers are approximate, as those of SQS."""
    reader = Reader(app)
    record = reader.ports.control.read() if has(reader.ports.control) else ControlRecord()
    return QueuesView(rows(reader, record), reader.about())


def rows(reader: Reader, record: ControlRecord) -> tuple[QueueRow, ...]:
    """Return a row for each command queue, with the pauses of *record*: two requests a queue."""
    limits, paused = reader.control.inspect().limits(), pauses.queues_of(record.paused, reader.now)
    loads = {name: reader.ports.consumers.load(command_queue(name)) for name in reader.queues}
    return tuple(QueueRow(name, load.waiting, load.running, limits.get(name), name in paused) for name, load in loads.items())
