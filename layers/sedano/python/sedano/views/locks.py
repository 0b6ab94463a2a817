"""Locks, leaders, singletons, permits and circuits: the holder of each, its fencing token, when it ends, and how many wait.

A store has no list of all leases, so a view reads leases by name: the locks that its caller asks for, and the singletons and permits
that tasks declare without a key from their arguments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sedano.api.inspection import CircuitView
from sedano.app import Sedano
from sedano.errors import MessageRefused
from sedano.model.leases import LeaseRecord
from sedano.model.limits.concurrency import BOARD_SIZE, Board, boards_of, running
from sedano.model.limits.task_limits import Concurrency, LimitChange, changed, highest, read
from sedano.model.messages.message import NOTHING
from sedano.model.tasks.task_spec import TaskSpec, alone
from sedano.ports.absent import has
from sedano.views.reader import About, Reader


class LockRow(NamedTuple):
    """A lease: its *owner*, its fencing *token*, when it *expires* (epoch s), and whether it is *held* now."""

    lock: str
    held: bool
    owner: str
    token: int
    expires: float
    waiting: int = 0


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


def locks(app: Sedano, names: Sequence[str]) -> LocksView:
    """Return the locks that are called *names*: a lock's name, or the full name of another lease (`singleton/TASK/KEY`, `leader/NAME`)."""
    reader = Reader(app)
    found, missing = _named(reader, names)
    return LocksView(found, missing, (), (), reader.about())


def held(app: Sedano, names: Sequence[str] = ()) -> LocksView:
    """Return the locks called *names*, the circuits, and singletons and permits of tasks with one key: one read for each limited task.

    If a limit of a task was above ten, also at run time and before it was lowered, a read of all its boards is added.
    """
    reader = Reader(app)
    declared = [f"singleton/{spec.name}/" for spec in reader.registry.tasks.values() if spec.singleton is alone]
    found, missing = _named(reader, [*names, *declared])
    changes = reader.ports.control.read().limits if has(reader.ports.control) else NOTHING
    permits = tuple(row for spec in reader.registry.tasks.values() for row in _permits(reader, spec, changes.get(spec.name, "")))
    circuits = tuple(reader.control.inspect().circuits()) if has(reader.ports.memos) else ()
    return LocksView(found, tuple(name for name in missing if name not in declared), permits, circuits, reader.about())


def _named(reader: Reader, names: Sequence[str]) -> tuple[tuple[LockRow, ...], tuple[str, ...]]:
    keys = {name: [f"lock/{name}", name] for name in names}
    asked = [key for some in keys.values() for key in some]
    found: Mapping[str, LeaseRecord] = reader.ports.leases.read(asked) if asked else {}
    known = {name: record for name, (key, other) in keys.items() if (record := found.get(key) or found.get(other)) is not None}
    return tuple(_row(name, record, reader.now) for name, record in known.items()), tuple(name for name in keys if name not in known)


def _row(name: str, record: LeaseRecord, now: float) -> LockRow:
    expires = record.expires / 1_000
    return LockRow(
        lock=name, held=record.held and expires > now, owner=record.owner, token=record.token, expires=expires, waiting=len(record.waiting)
    )  # fmt: skip


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
