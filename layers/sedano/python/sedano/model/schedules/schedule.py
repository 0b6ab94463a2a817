"""A schedule: a task with its timetable; and the decision on due occurrences, so that each runs once. Pure.

Any number of controllers may evaluate a schedule at the same time, late, or twice. Its *state* changes only by compare-and-swap, in two
steps:

1. `decided` advances the cursor and records the moments to publish. A controller that loses the swap does not decide or publish anything.
2. The writer publishes them, under ids derived from schedule and moment, then removes them (`published`).

A crash between the two steps leaves moments that another controller takes over by another swap, after the claim of the writer has expired
(`sedano.model.schedules.agenda.is_held`). A second publication has the same id, so the claim of the first refuses it. So every moment runs
exactly once. Missed moments are decided once, in step 1, even if the clocks of controllers differ. Misfire grace and coalescing have the
same meaning as in APScheduler.
"""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple
from uuid import uuid5

from sedano.errors import OptionError
from sedano.model.ledger.records import RECORD_LIFETIME_S
from sedano.model.messages.lineage import NAMESPACE
from sedano.model.schedules.timetable import YEAR_S, Timetable, between

AHEAD_S = 90
"""How far ahead (s) a controller with a round every minute decides: the queue delays each message to its second."""
MOST_AT_ONCE = 500
"""The most moments that one decision records; the next decision handles the rest."""
MOST_RUNNING = 100
"""The most occurrences of one schedule that are recorded as not ended; this is also the highest `max_instances`."""
REMEMBERED_S = RECORD_LIFETIME_S - 86_400
"""How long (s) an occurrence may count as not ended. Its record, which shows its end, is deleted later: the day is for the launch that
reads it."""


class Schedule(NamedTuple):
    """A schedule with a unique *name*; *timetable* has the moments of its task.

    *jitter*: the most seconds by which an occurrence is delayed; the delay of an occurrence is always the same. *misfire_grace*: an
    occurrence that is late by more than this many seconds is skipped (None: never). *coalesce*: of several late occurrences only the last
    runs. *paused*: moments during the pause are skipped. *max_instances*: an occurrence is skipped if this many earlier ones still wait or
    run at its moment (None: no limit).
    """

    name: str
    timetable: Timetable
    jitter: int = 0
    misfire_grace: int | None = None
    coalesce: bool = True
    paused: bool = False
    max_instances: int | None = None

    def checked(self) -> Schedule:
        """Return this schedule.

        Raises:
            OptionError: an option is not valid.
        """
        name: object = self.name
        if not isinstance(name, str) or not 1 <= len(self.name) <= 256:
            raise OptionError(f"name: {self.name!r} is not 1 to 256 characters")
        if any("\ud800" <= letter <= "\udfff" for letter in self.name):
            raise OptionError(f"name: {self.name!r} has half of a surrogate pair, which UTF-8 cannot encode; give the whole character")
        for field, value in (("jitter", self.jitter), ("misfire_grace", self.misfire_grace)):
            whole = isinstance(value, int) and not isinstance(value, bool)
            if value is not None and not (whole and 0 <= value <= YEAR_S):
                raise OptionError(f"{field}: {value!r} is not a whole number of seconds from 0 to {YEAR_S}")
        most = self.max_instances
        if most is not None and (type(most) is not int or not 1 <= most <= MOST_RUNNING):
            raise OptionError(f"max_instances: {most!r} is not a whole number from 1 to {MOST_RUNNING}; omit it for no limit")
        for field, flag in (("coalesce", self.coalesce), ("paused", self.paused)):
            if type(flag) is not bool:
                raise OptionError(f"{field}: {flag!r} is neither True nor False")
        return self


class State(NamedTuple):
    """The decisions so far: all moments until *cursor* (epoch s) are decided; *pending* ones are not published yet; *missed* is the number
    of skipped ones.

    *running*: if instances are limited, the moments that were decided and are not known to have ended.
    """

    cursor: int
    pending: tuple[int, ...] = ()
    missed: int = 0
    running: tuple[int, ...] = ()


class Occurrence(NamedTuple):
    """One publication: the id of its task, its moment in the timetable, and the time from which it may run (epoch s)."""

    task_id: str
    scheduled: int
    runs_at: int


def occurrence(schedule: Schedule, scheduled: int) -> Occurrence:
    """Return the occurrence of *schedule* at the moment *scheduled*: the same in every process and at every call."""
    derived = uuid5(NAMESPACE, f"occurrence/{len(schedule.name)}:{schedule.name}/{scheduled}")
    return Occurrence(str(derived), scheduled, scheduled + derived.int % (schedule.jitter + 1))


def decided(schedule: Schedule, state: State, now: float, ahead: float = AHEAD_S) -> State:
    """Return *state* with the moments until *ahead* seconds from *now* decided; it is unchanged if moments are pending, or if there are no
    new ones.

    The cursor never moves back, even if the clock does. So a decided moment is not decided again, and a moment before the cursor that an
    edit of the schedule adds is not decided either.
    """
    until = int(now + ahead)
    if state.pending:
        return state
    moments: list[int] = []
    for moment in between(schedule.timetable, state.cursor, until):
        if len(moments) == MOST_AT_ONCE:
            until = moments[-1]
            break
        moments.append(moment)
    if not moments:  # the state is unchanged, so no write is needed: the next round reads the same seconds again
        return state
    if schedule.paused:
        return state._replace(cursor=until, missed=state.missed + len(moments))
    late = [moment for moment in moments if moment <= now]
    kept = [m for m in late if schedule.misfire_grace is None or now - m <= schedule.misfire_grace]
    kept = kept[-1:] if schedule.coalesce else kept
    pending = (*kept, *moments[len(late) :])
    return State(until, pending, state.missed + len(moments) - len(pending), _running(schedule, state, pending, now))


def levelled(state: State, now: float, ahead: float = AHEAD_S) -> State:
    """Return *state*, in which `decided` found no moment and nothing is pending, with its cursor *ahead* seconds from *now*.

    So the schedules of an agenda that is written have one cursor, and only those that differ are stored one by one. Until then a cursor
    alone is not worth a write.
    """
    return state._replace(cursor=max(state.cursor, int(now + ahead)))


def is_due(schedule: Schedule, state: State, now: float, ahead: float = AHEAD_S) -> bool:
    """Return whether *schedule* has a moment until *ahead* seconds from *now* that is neither decided nor pending."""
    return not state.pending and next(between(schedule.timetable, state.cursor, int(now + ahead)), None) is not None


def published(state: State) -> State:
    """Return *state* without its pending moments, which were published."""
    return state._replace(pending=())


def ended(state: State, moments: Container[int]) -> State:
    """Return *state* without the running occurrences at *moments*, which have ended."""
    return state._replace(running=tuple(moment for moment in state.running if moment not in moments))


def edited(state: State, old: Schedule, new: Schedule, now: float) -> State:
    """Return *state* for a schedule that changes from *old* to *new* at *now*.

    The cursor remains, or moves to *now*: past moments do not run by the new timetable. Moments before the cursor that only the new
    timetable has become pending; `withdrawn` returns those that only the old timetable had.
    """
    if new.paused or (new.timetable == old.timetable and not old.paused):
        return state._replace(running=state.running if new.max_instances else ())
    known = {*state.pending} if old.paused else {*state.pending, *between(old.timetable, now, state.cursor)}
    fresh = [moment for moment in between(new.timetable, now, state.cursor) if moment not in known]
    pending = (*state.pending, *fresh)
    return state._replace(cursor=max(state.cursor, int(now)), pending=pending, running=_running(new, state, tuple(fresh), now))


def withdrawn(state: State, old: Schedule, new: Schedule | None, now: float) -> list[Occurrence]:
    """Return the occurrences that were published in advance for *old* and must not run, because the schedule is *new* from *now* on (None:
    removed).
    """
    kept = set(between(new.timetable, now, state.cursor)) if new is not None and not new.paused else set()
    ahead = () if old.paused else between(old.timetable, now, state.cursor)
    return [occurrence(old, moment) for moment in ahead if moment not in kept]


def remembered(moments: tuple[int, ...], now: float) -> tuple[int, ...]:
    """Return the *moments* of running occurrences without those whose records may be deleted at *now*: they have ended."""
    return tuple(moment for moment in moments if moment > now - REMEMBERED_S)


def _running(schedule: Schedule, state: State, more: tuple[int, ...], now: float) -> tuple[int, ...]:
    return (*remembered(state.running, now), *more)[-MOST_RUNNING:] if schedule.max_instances else ()
