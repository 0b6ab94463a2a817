"""The periodic tasks: their next moments in UTC and in their own zone, changes of clocks, missed and late moments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import NamedTuple

from sedano.app import Sedano
from sedano.errors import OptionError
from sedano.model.messages.timestamps import shown
from sedano.model.schedules.agenda import Agenda, Periodic, begun
from sedano.model.schedules.timetable import At, Cron, Every, Timetable, upcoming
from sedano.ports.absent import has
from sedano.views.reader import About, Reader

MOST_MOMENTS = 1_000
LATE_S = 120.0
"""The seconds after which an unpublished moment is late: controllers publish every minute, ahead of time."""
_DAY_S = 86_400.0


class ScheduleRow(NamedTuple):
    """A periodic task with its *next* moment (epoch s; None: paused or over)."""

    schedule: str
    task: str
    when: str
    next: float | None
    paused: bool
    missed: int
    late: bool = False


class MomentRow(NamedTuple):
    """A moment of a schedule: epoch seconds, as text in *utc* and in the schedule's own zone (*local*), and a *note* on the clocks."""

    at: float
    utc: str
    local: str
    note: str = ""


class SchedulesView(NamedTuple):
    """The schedules by name, and the next *moments* of each. *unreadable*: why some of the sixteen stored agendas cannot be read."""

    rows: tuple[ScheduleRow, ...]
    moments: Mapping[str, tuple[MomentRow, ...]]
    unreadable: tuple[str, ...]
    about: About


def schedules(app: Sedano, number: int = 5) -> SchedulesView:
    """Return the periodic tasks of *app*, with the next *number* moments of each: one BatchGetItem of sixteen items, and
    one of their definitions, if this process does not know these.

    Raises:
        OptionError: *number* is not a whole number from 1 to 1 000.
    """
    if type(number) is not int or not 1 <= number <= MOST_MOMENTS:
        raise OptionError(f"number: {number!r} is not a whole number from 1 to {MOST_MOMENTS}")
    reader = Reader(app)
    found, unreadable = periodics(reader)
    now = reader.now
    rows = tuple(row(found[name], now) for name in sorted(found))
    moments = {name: _moments(found[name], now, number) for name in sorted(found)}
    return SchedulesView(rows, moments, unreadable, reader.about())


def periodics(reader: Reader) -> tuple[dict[str, Periodic], tuple[str, ...]]:
    """Return the periodic tasks by name, including those that no controller has started yet, and why agendas cannot be read."""
    agendas = reader.ports.schedules.read() if has(reader.ports.schedules) else []
    declared = {name: begun(one, reader.now) for name, one in reader.periodics.items()}
    stored = {name: one for agenda in agendas if isinstance(agenda, Agenda) for name, one in agenda.periodics.items()}
    return {**declared, **stored}, tuple(str(agenda) for agenda in agendas if not isinstance(agenda, Agenda))


def row(found: Periodic, now: float) -> ScheduleRow:
    """Return a periodic task as a row."""
    schedule = found.schedule
    following = None if schedule.paused else next(iter(upcoming(schedule.timetable, now, 1)), None)
    return ScheduleRow(
        schedule=schedule.name, task=found.call.task, when=when(schedule.timetable), paused=schedule.paused, missed=found.state.missed,
        next=None if following is None else following.timestamp(), late=_is_late(found, now),
    )  # fmt: skip


def when(timetable: Timetable) -> str:
    """Return *timetable* in a few words."""
    match timetable:
        case Cron():
            return f"{timetable.expression} {timetable.tz}"
        case Every():
            return f"every {timetable.seconds} s"
        case At():
            return _times(timetable.moments)


def _times(moments: Iterable[int]) -> str:
    first, *more = map(shown, moments)
    return f"at {first}{f' and {len(more)} more times' if more else ''}"


def _is_late(found: Periodic, now: float) -> bool:
    """Return whether a moment has passed that no controller has published, or left out."""
    if found.schedule.paused:
        return False
    first = min(found.state.pending, default=None) or next(islice(found.schedule.timetable.following(found.state.cursor), 1), None)
    return first is not None and first + found.schedule.jitter + LATE_S < now


def _moments(found: Periodic, now: float, number: int) -> tuple[MomentRow, ...]:
    if found.schedule.paused:
        return ()
    moments = upcoming(found.schedule.timetable, now, number)
    before = [datetime.fromtimestamp(now, moments[0].tzinfo), *moments[:-1]] if moments else []
    return tuple(_moment(one, last) for one, last in zip(moments, before, strict=True))


def _moment(one: datetime, last: datetime) -> MomentRow:
    """Return one moment; *last* is the one before, or now."""
    note = ""
    if one.utcoffset() != last.utcoffset():
        note = f"clocks change before it, from {last:%z} to {one:%z}"
    if one.replace(fold=0).utcoffset() != one.replace(fold=1).utcoffset():
        note = f"the clocks show {one:%H:%M} twice on this day; this is the {'second' if one.fold else 'first'} time"
    return MomentRow(one.timestamp(), one.astimezone(UTC).isoformat(), one.isoformat(), note)
