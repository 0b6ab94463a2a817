"""Locks, leaders, singletons, permits, rates, elections and circuits: who holds each, its fencing token, when it ends, and who waits.

A store has no list of all leases, so a view reads leases by name: the locks that its caller asks for, and the singletons and permits
that tasks declare without a key from their arguments. The same is true of elections, and of the lines of rates, whose slots are numbers:
a line has the number of its reserved slots, not the tasks that have them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sedano.api.inspection import CircuitView
from sedano.app import Sedano
from sedano.errors import MessageRefused
from sedano.model.elections import ANYBODY, OPEN, Election, order
from sedano.model.leases import LeaseRecord
from sedano.model.limits.concurrency import BOARD_SIZE, Board, boards_of, running
from sedano.model.limits.rate import SECOND, idle, in_words, line_name, reserved, slot, started
from sedano.model.limits.task_limits import Concurrency, LimitChange, changed, highest, read
from sedano.model.messages.message import NOTHING
from sedano.model.tasks.task_spec import TaskSpec, alone
from sedano.ports.absent import has
from sedano.views.reader import About, Reader

ELECTION = "election/"
"""How the name of an election begins among the names of leases."""


class LockRow(NamedTuple):
    """A lease: its *owner*, its fencing *token*, when it *expires* (epoch s), and whether it is *held* now.

    *waiting*: the messages that are woken when it is released, ten at most; *next*: the process that asked first and gets it then, if any.
    """

    lock: str
    held: bool
    owner: str
    token: int
    expires: float
    waiting: int = 0
    next: str = ""


class RateRow(NamedTuple):
    """The line of the rate of a *task*: *rate* in words, the number of *reserved* slots after now, the slot of the next task (epoch s)."""

    task: str
    rate: str
    reserved: int
    next: float


class ElectionRow(NamedTuple):
    """An election: its *topic*, its *state*, the *candidates* with the lowest clock first, and the workers that have not registered yet.

    *winner* and *term*: of a closed election.
    """

    election: str
    topic: str
    state: str
    candidates: tuple[str, ...]
    awaited: tuple[str, ...]
    winner: str
    term: int


class PermitRow(NamedTuple):
    """A permit of a *task* that is held: its *number*, *token* and *owner*, when it *expires* (epoch s).

    *most*: the number of permits; *waiting*: the messages that are woken when a permit is released, ten at most.
    """

    task: str
    number: int
    token: int
    owner: str
    expires: float
    most: int
    waiting: int


class LocksView(NamedTuple):
    """The leases that were asked for or are declared; *missing* are names that no lease has; the held *permits*; the *circuits*."""

    rows: tuple[LockRow, ...]
    missing: tuple[str, ...]
    permits: tuple[PermitRow, ...]
    circuits: tuple[CircuitView, ...]
    about: About
    rates: tuple[RateRow, ...] = ()
    elections: tuple[ElectionRow, ...] = ()


def locks(app: Sedano, names: Sequence[str]) -> LocksView:
    """Return the locks that are called *names*: a lock's name, the full name of another lease (`singleton/TASK/KEY`, `leader/NAME`), or an
    election (`election/ID`)."""
    reader = Reader(app)
    elections, others = _elections(reader, names)
    found, missing = _named(reader, others)
    return LocksView(found, missing, (), (), reader.about(), elections=elections)


def held(app: Sedano, names: Sequence[str] = ()) -> LocksView:
    """Return the locks and elections called *names*, the circuits, and singletons, permits and rates of tasks with one key.

    A declared singleton that never ran, or whose record has expired, is free: its token and its end are 0.
    One read for each task with permits, for each task with a rate that all workers share, and for each election.

    If a limit of a task was above ten, also at run time and before it was lowered, a read of all its boards is added.
    """
    reader = Reader(app)
    declared = [f"singleton/{spec.name}/" for spec in reader.registry.tasks.values() if spec.singleton is alone]
    elections, others = _elections(reader, names)
    found, missing = _named(reader, [*others, *declared])
    changes = reader.ports.control.read().limits if has(reader.ports.control) else NOTHING
    permits = tuple(row for spec in reader.registry.tasks.values() for row in _permits(reader, spec, changes.get(spec.name, "")))
    rates = tuple(row for spec in reader.registry.tasks.values() for row in _rates(reader, spec, changes.get(spec.name, "")))
    circuits = tuple(reader.control.inspect().circuits()) if has(reader.ports.memos) else ()
    never = tuple(LockRow(name, held=False, owner="", token=0, expires=0.0) for name in missing if name in declared)
    missing = tuple(name for name in missing if name not in declared)
    return LocksView((*found, *never), missing, permits, circuits, about=reader.about(), rates=rates, elections=elections)


def _named(reader: Reader, names: Sequence[str]) -> tuple[tuple[LockRow, ...], tuple[str, ...]]:
    keys = {name: [f"lock/{name}", name] for name in names}
    asked = [key for some in keys.values() for key in some]
    found: Mapping[str, LeaseRecord] = reader.ports.leases.read(asked) if asked else {}
    known = {name: record for name, (key, other) in keys.items() if (record := found.get(key) or found.get(other)) is not None}
    return tuple(_row(name, record, reader.now) for name, record in known.items()), tuple(name for name in keys if name not in known)


def _row(name: str, record: LeaseRecord, now: float) -> LockRow:
    expires = record.expires / 1_000
    return LockRow(
        lock=name, held=record.held and expires > now, owner=record.owner, token=record.token, expires=expires, waiting=len(record.waiting),
        next=record.want,
    )  # fmt: skip


def _elections(reader: Reader, names: Sequence[str]) -> tuple[tuple[ElectionRow, ...], list[str]]:
    """Return the elections among *names*, and the other names; an election that does not exist is one of these."""
    if not has(reader.ports.elections):
        return (), [*names]
    asked = {name: name.removeprefix(ELECTION) for name in names if name.startswith(ELECTION)}
    read = {name: reader.ports.elections.read(election_id) for name, election_id in asked.items()}
    found = {name: one for name, one in read.items() if one is not None}
    return tuple(map(_election, found.values())), [name for name in names if name not in found]


def _election(one: Election) -> ElectionRow:
    awaited = one.need - one.candidates.keys() - ANYBODY if one.state == OPEN else ()
    return ElectionRow(
        election=one.election_id, topic=one.topic, state=one.state, candidates=tuple(order(one.candidates)), awaited=tuple(sorted(awaited)),
        winner=one.winner, term=one.term,
    )  # fmt: skip


def _rates(reader: Reader, spec: TaskSpec, text: str) -> tuple[RateRow, ...]:
    limits = changed(spec.limits, _readable(text))
    if not limits.paces or limits.key is not None or limits.per_worker or not has(reader.ports.limits):
        return ()
    line = reader.ports.limits.line(line_name(spec.name, limits.paces), limits.paces)
    now = int(reader.now * SECOND)
    if line is None or idle(line, limits.paces, now):
        line = started(limits.paces, 0, now, "")
    following = max(now, slot(line, limits.paces, line.taken)) / SECOND
    return (RateRow(spec.name, in_words(limits.paces), reserved(line, limits.paces, now), following),)


def _permits(reader: Reader, spec: TaskSpec, text: str) -> tuple[PermitRow, ...]:
    change = _readable(text)
    limits = changed(spec.limits, change)
    if limits.concurrency is None or limits.concurrency_key is not None or not has(reader.ports.limits):
        return ()
    most = highest(limits.concurrency)
    board = _board(reader, f"{spec.name}/", max(most, highest(_declared(spec)), change.most))
    return tuple(
        PermitRow(
            task=spec.name, number=one.number, token=one.token, owner=one.owner, expires=one.expires / 1_000, most=most,
            waiting=len(board.waiting),
        )
        for one in running(board, int(reader.now * 1_000))
    )  # fmt: skip


def _board(reader: Reader, name: str, most: int) -> Board:
    """Return all permits of *name*, and the messages that wait at its first board or in the line of its boards."""
    first = reader.ports.limits.board(name)
    if most <= BOARD_SIZE:
        return first
    all_boards = reader.ports.limits.boards(name, boards_of(most))
    return all_boards._replace(waiting=first.waiting + all_boards.waiting)


def _declared(spec: TaskSpec) -> Concurrency:
    return spec.limits.concurrency or 0 if spec.limits is not None else 0


def _readable(text: str) -> LimitChange:
    """Return the change of the control record that *text* describes; one that cannot be read is ignored."""
    try:
        return read(text)
    except MessageRefused:
        return LimitChange()
