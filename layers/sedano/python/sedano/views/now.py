"""Does anything need you now? Parked messages, failures, open circuits, late schedules, lost workers, old queues, pauses that hold
tasks back.

The view makes small reads: the control record, the shared circuits, the sixteen agendas, the indexes of members and of failures, one
request for each queue, and one for the ages of the queues in which messages wait. Today's history is read for the latest tasks; with
``days=0`` it is not, and the view costs no S3 request.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from sedano.api.inspection import CircuitView
from sedano.app import Sedano
from sedano.engine import deployments
from sedano.model import pauses, states
from sedano.model.cluster.control_record import ControlRecord
from sedano.model.cluster.members import LOST, Member
from sedano.model.messages.timestamps import shown
from sedano.model.pauses import PauseCause
from sedano.model.queues import messages_wait
from sedano.model.retry import MAX_EXECUTIONS
from sedano.ports import PARKED
from sedano.ports.absent import has
from sedano.views import failures as of_failures
from sedano.views import queues as of_queues
from sedano.views import schedules as of_schedules
from sedano.views.cluster import timelines
from sedano.views.failures import FailureGroup
from sedano.views.queues import QueueRow
from sedano.views.reader import About, Reader
from sedano.views.schedules import ScheduleRow
from sedano.views.tasks import TaskRow, row

LATEST = 25
MOST_GROUPS = 10


class Need(NamedTuple):
    """One thing that needs a person: its *kind*, its *name*, one *sentence* about it, and the *query* that finds its tasks, if any.

    Kinds: ``parked``, ``poison``, ``failures``, ``circuit``, ``schedule``, ``worker``, ``queue``, ``paused``.
    """

    kind: str
    name: str
    sentence: str
    query: str = ""


class NowView(NamedTuple):
    """The *needs* for a person, the *queues*, how many workers are in each state, and the tasks *by_state* with the *latest* of them.

    *notes*: sentences about the sources of the failures among the needs (`sedano.views.failures`), and about unknown ages of queues.
    """

    needs: tuple[Need, ...]
    queues: tuple[QueueRow, ...]
    workers: Mapping[str, int]
    by_state: Mapping[str, int]
    latest: tuple[TaskRow, ...]
    unreadable: int
    notes: tuple[str, ...]
    about: About


def now(app: Sedano, days: int = 1) -> NowView:
    """Return what needs a person now, with the tasks of the last *days*; 0: no history is read."""
    reader = Reader(app)
    every, unreadable = timelines(reader.ports, days) if days else ([], 0)
    rows = [row(task) for task in every]
    members = reader.control.members() if has(reader.ports.members) else []
    record = reader.ports.control.read() if has(reader.ports.control) else ControlRecord()
    causes = of_queues.causes(reader, record)
    queues, unknown = of_queues.rows(reader, record, causes) if has(reader.ports.consumers) else ((), ())
    failed = of_failures.read(reader, max(days, 1), (lambda: (every, 0)) if days else None)
    groups = of_failures.grouped(failed, deployments.last(reader.ports)) if failed.tasks else []
    needs = (*_needs(reader, groups, members), *map(_old, of_queues.old(queues)), *_paused(record, queues, causes, reader.now))
    return NowView(
        needs=needs, queues=queues, workers=dict(Counter(one.state for one in members)),
        by_state=dict(Counter(one.state for one in rows)), latest=tuple(rows[:LATEST]), unreadable=unreadable,
        notes=(*unknown, *failed.notes), about=reader.about(),
    )  # fmt: skip


def _needs(reader: Reader, groups: Sequence[FailureGroup], members: Sequence[Member]) -> Iterator[Need]:
    parked = reader.ports.consumers.load(PARKED).waiting if has(reader.ports.consumers) else 0
    if parked:
        yield Need("parked", "parked", f"{_messages(parked)} set aside; `sedano parked list` shows the reasons")
    for group in groups[:MOST_GROUPS]:
        yield _failed(group)
    circuits = reader.control.inspect().circuits() if has(reader.ports.memos) else []
    yield from (_circuit(one) for one in circuits if one.open)
    if has(reader.ports.schedules):
        found, unreadable = of_schedules.periodics(reader)
        late = [one for one in (of_schedules.row(found[name], reader.now) for name in sorted(found)) if one.late]
        yield from map(_late, late)
        yield from (Need("schedule", "", f"an agenda of schedules cannot be read: {why}") for why in unreadable)
    yield from (_lost(one) for one in members if one.state == LOST)


def _messages(number: int) -> str:
    return "1 message was" if number == 1 else f"{number} messages were"


def _failed(group: FailureGroup) -> Need:
    if group.state == states.RETRY:
        return _tried_again(group)
    kind = "poison" if group.state == states.POISON else "failures"
    times = "once" if group.number == 1 else f"{group.number} times"
    place = f" ({group.where})" if group.where else ""
    last = f"last at {shown(group.last)}: task {group.example}"
    new = ", new since the last deployment" if group.new else ""
    return Need(kind, group.task, f"{group.task} failed {times} with {group.error}{place}{new}, {last}", group.query)


def _tried_again(group: FailureGroup) -> Need:
    """Return the need of tasks that failed in many executions and are tried again."""
    place = f" ({group.where})" if group.where else ""
    some = "a task is" if group.number == 1 else f"{group.number} tasks are"
    sentence = f"{group.task}: {some} tried again after {MAX_EXECUTIONS} executions or more with {group.error}{place}, last at "
    return Need("failures", group.task, f"{sentence}{shown(group.last)}: task {group.example}", group.query)


def _circuit(one: CircuitView) -> Need:
    return Need("circuit", one.name, f"the circuit {one.name} is open until {shown(one.until)}: {one.cause}")


def _late(one: ScheduleRow) -> Need:
    return Need("schedule", one.schedule, f"the schedule {one.schedule} is late: no controller has published its last moment")


def _old(one: QueueRow) -> Need:
    minutes = int((one.age or 0.0) // 60)
    why = f"the queue {one.queue} is behind: its oldest message has waited for {minutes} minutes"
    return Need("queue", one.queue, why, f"queue:{one.queue}")


def _lost(one: Member) -> Need:
    return Need("worker", one.name, f"the worker {one.name} was lost at {shown(one.seen)} with {len(one.holds)} tasks")


def _paused(
    record: ControlRecord, queues: Sequence[QueueRow], causes: Mapping[tuple[str, str], PauseCause], now: float
) -> Iterator[Need]:  # fmt: skip
    """Yield the pauses in force, with their causes if known, and for a queue the number of messages that wait."""
    waiting = {one.queue: one.wait for one in queues}
    for one in sorted(pauses.in_force(record.paused, now)):
        until = f" until {shown(one.until)}" if one.until else ""
        cause = " " * bool(said := causes.get((one.kind, one.name), PauseCause()).sentence) + said
        held = f"; {messages_wait(waiting[one.name])}" if one.kind == pauses.QUEUE and one.name in waiting else ""
        yield Need("paused", one.name, f"the {one.kind} {one.name} is paused{until}{cause}{held}")
