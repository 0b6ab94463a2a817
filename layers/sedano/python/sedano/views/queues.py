"""The command queues: how much waits and runs in each, its limit and its pause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sedano.app import Sedano
from sedano.errors import SedanoError
from sedano.model import pauses
from sedano.model.cluster.control_record import ControlRecord
from sedano.model.history.tenant_loads import TenantLoad, tenant_loads
from sedano.model.ledger.failures import day_of
from sedano.model.pauses import PauseCause
from sedano.model.queues import OLD_MESSAGE_S
from sedano.ports import command_queue
from sedano.ports.absent import has
from sedano.views.cluster import timelines
from sedano.views.reader import About, Reader

TENANTS_S = 3_600.0
"""The seconds of history in which the tasks of each tenant are counted."""


class QueueRow(NamedTuple):
    """A command queue: messages that *wait* and that *run*, how many invocations it may have (None: unknown), whether it is *paused*.

    *by* and *reason*: who paused it and why, if known. *age*: for how long (s) the message that has waited longest has waited; 0: none
    waits; None: unknown.
    """

    queue: str
    wait: int
    run: int
    invocations: int | None
    paused: bool
    by: str = ""
    reason: str = ""
    age: float | None = None


class QueuesView(NamedTuple):
    """The command queues of an app, in the order of its declaration.

    *tenants*: those of the last hour by queue, the largest first, if requested. *unreadable* counts lines of the event history.
    *notes*: sentences about numbers that could not be read.
    """

    rows: tuple[QueueRow, ...]
    about: About
    tenants: tuple[TenantLoad, ...] = ()
    unreadable: int = 0
    notes: tuple[str, ...] = ()


def queues(app: Sedano, *, tenants: bool = False) -> QueuesView:
    """Return the command queues of *app* as they are now; the numbers are approximate, as SQS reports them.

    *tenants*: read the event history of today, and of yesterday in the first hour of a day, for the tenants of the last hour.
    """
    reader = Reader(app)
    record = reader.ports.control.read() if has(reader.ports.control) else ControlRecord()
    found, notes = rows(reader, record, causes(reader, record))
    since = reader.now - TENANTS_S
    every, unreadable = timelines(reader.ports, 1 if day_of(since) == day_of(reader.now) else 2) if tenants else ([], 0)
    return QueuesView(found, reader.about(), tuple(tenant_loads(every, since)), unreadable, notes)


def causes(reader: Reader, record: ControlRecord) -> Mapping[tuple[str, str], PauseCause]:
    """Return the known causes of the pauses of *record* that are in force, by kind and name: one request where there are pauses."""
    names = {pauses.cause_name(one.kind, one.name): (one.kind, one.name) for one in pauses.in_force(record.paused, reader.now)}
    if not names or not has(reader.ports.memos):
        return {}
    return {names[name]: pauses.cause_of(memo.text) for name, memo in reader.ports.memos.read(list(names)).items()}


QueueRows = tuple[tuple[QueueRow, ...], tuple[str, ...]]


def rows(reader: Reader, record: ControlRecord, known: Mapping[tuple[str, str], PauseCause]) -> QueueRows:
    """Return a row for each command queue, with the pauses of *record* and the *known* causes of pauses: two requests a queue, and one for
    the ages of all queues in which messages wait. The second value is a note if the ages could not be read."""
    limits, paused = reader.control.inspect().limits(), pauses.queues_of(record.paused, reader.now)
    loads = {name: reader.ports.consumers.load(command_queue(name)) for name in reader.queues}
    ages, notes = _ages(reader, [name for name, load in loads.items() if load.waiting])
    found = tuple(
        QueueRow(
            queue=name, wait=load.waiting, run=load.running, invocations=limits.get(name), paused=name in paused,
            by=known.get((pauses.QUEUE, name), PauseCause()).by, reason=known.get((pauses.QUEUE, name), PauseCause()).reason,
            age=ages.get(name, 0.0),
        )
        for name, load in loads.items()
    )  # fmt: skip
    return found, notes


def old(found: Sequence[QueueRow]) -> list[QueueRow]:
    """Return those of *found* in which a message has waited for too long."""
    return [one for one in found if one.age is not None and one.age >= OLD_MESSAGE_S]


def _ages(reader: Reader, waiting: Sequence[str]) -> tuple[Mapping[str, float | None], tuple[str, ...]]:
    """Return the ages of the queues *waiting* by name: all unknown, with a note, where they may not or cannot be read."""
    if not waiting:
        return {}, ()
    try:
        found = reader.ports.consumers.ages([command_queue(name) for name in waiting])
    except SedanoError as error:
        return dict.fromkeys(waiting), (f"The ages of queues are unknown: {error}",)
    return {name: found[command_queue(name)] for name in waiting}, ()
