"""A schedule: which task runs by which timetable; and which occurrences are due, decided so that each runs once. Pure.

Any number of controllers may look at a schedule at once, late, or twice. Its *state* changes by compare-and-swap alone, in two steps:

1. `decided` moves the cursor on and writes down which moments are to be published. A controller that loses the swap decides and publishes
  nothing.
2. The writer publishes them, under ids derived from schedule and moment, then crosses them off (`published`).

A crash between the two leaves moments that another controller takes over by a swap of its own, as soon as the claim of the writer is over
(`sedano.model.schedules.agenda.is_held`); a copy of a publication meets the claim of the first under its id. So no moment is lost and none
runs twice. Missed moments are judged in step 1, once, so also by controllers whose clocks differ. Misfire grace and coalescing mean what
APScheduler's users know.
"""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple
from uuid import uuid5

from sedano.errors import OptionError
from sedano.model.messages.lineage import NAMESPACE
from sedano.model.schedules.timetable import YEAR_S, Timetable, between

AHEAD_S = 90
"""How far ahead a controller that looks every minute decides: the queue holds each message back to the second."""
MOST_AT_ONCE = 500
"""The most moments that one decision writes down; the next decision handles the rest."""
MOST_RUNNING = 100
"""The most occurrences of one schedule that are remembered as not ended yet; so also the highest limit of them."""


class Schedule(NamedTuple):
    """The task that *timetable* calls, under a *name* of its own.

    *jitter*: each occurrence is put off by up to so many seconds, always the same for one occurrence; *misfire_grace*: an occurrence that
    could not be published for longer (seconds) is left out (None: never); *coalesce*: of several that are late only the last runs;
    *paused*: moments meanwhile are left out; *max_instances*: an occurrence is left out if so many earlier ones still wait or run at its
    moment (None: no limit).
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
            OptionError: an option cannot be honoured.
        """
        name: object = self.name
        if not isinstance(name, str) or not 1 <= len(self.name) <= 256:
            raise OptionError(f"name: {self.name!r} is not 1 to 256 characters")
        for field, value in (("jitter", self.jitter), ("misfire_grace", self.misfire_grace)):
            whole = isinstance(value, int) and not isinstance(value, bool)
            if value is not None and not (whole and 0 <= value <= YEAR_S):
                raise OptionError(f"{field}: {value!r} is not a whole number of seconds from 0 to {YEAR_S}")
        most = self.max_instances
        if most is not None and (type(most) is not int or not 1 <= most <= MOST_RUNNING):
            raise OptionError(f"max_instances: {most!r} is not a whole number from 1 to {MOST_RUNNING}; leave it out for no limit")
        for field, flag in (("coalesce", self.coalesce), ("paused", self.paused)):
            if type(flag) is not bool:
                raise OptionError(f"{field}: {flag!r} is neither True nor False")
        return self


class State(NamedTuple):
    """The decisions: all moments until *cursor* (epoch s); *pending* are not crossed off yet, *missed* were left out.

    *running*: where instances are limited, the moments that were written down and are not known to have ended.
    """

    cursor: int
    pending: tuple[int, ...] = ()
    missed: int = 0
    running: tuple[int, ...] = ()


class Occurrence(NamedTuple):
    """One publication: the id of its task, the moment that the timetable names, and when it may run (epoch s)."""

    task_id: str
    scheduled: int
    runs_at: int


def occurrence(schedule: Schedule, scheduled: int) -> Occurrence:
    """Return the occurrence of *schedule* at the moment *scheduled*: the same in every process and at every call."""
    derived = uuid5(NAMESPACE, f"occurrence/{len(schedule.name)}:{schedule.name}/{scheduled}")
    return Occurrence(str(derived), scheduled, scheduled + derived.int % (schedule.jitter + 1))


def decided(schedule: Schedule, state: State, now: float, ahead: float = AHEAD_S) -> State:
    """Return *state* with the moments until *ahead* seconds from *now* decided; unchanged while moments are pending, or without new ones.

    The cursor never moves back, also when the clock does: a decided moment is not decided again, nor is one that an edit of the schedule
    would now put before it.
    """
    until = int(now + ahead)
    if state.pending or until <= state.cursor:
        return state
    moments: list[int] = []
    for moment in between(schedule.timetable, state.cursor, until):
        if len(moments) == MOST_AT_ONCE:
            until = moments[-1]
            break
        moments.append(moment)
    if not moments:  # what changes nothing costs no write: the same seconds are looked at again
        return state
    if schedule.paused:
        return state._replace(cursor=until, missed=state.missed + len(moments))
    late = [moment for moment in moments if moment <= now]
    kept = [m for m in late if schedule.misfire_grace is None or now - m <= schedule.misfire_grace]
    kept = kept[-1:] if schedule.coalesce else kept
    pending = (*kept, *moments[len(late) :])
    return State(until, pending, state.missed + len(moments) - len(pending), _running(schedule, state, pending))


def published(state: State) -> State:
    """Return *state* with its pending moments crossed off."""
    return state._replace(pending=())


def ended(state: State, moments: Container[int]) -> State:
    """Return *state* without the occurrences at *moments*, which have ended, among those that run."""
    return state._replace(running=tuple(moment for moment in state.running if moment not in moments))


def edited(state: State, old: Schedule, new: Schedule, now: float) -> State:
    """Return *state* for a schedule that was *old* and is *new* from *now* on.

    The cursor stays, or moves to *now*: past moments do not run by another timetable. Moments before the cursor that only the new timetable
    has are written down; `withdrawn` names those that only the old one had.
    """
    if new.paused or (new.timetable == old.timetable and not old.paused):
        return state._replace(running=state.running if new.max_instances else ())
    known = {*state.pending} if old.paused else {*state.pending, *between(old.timetable, now, state.cursor)}
    fresh = [moment for moment in between(new.timetable, now, state.cursor) if moment not in known]
    pending = (*state.pending, *fresh)
    return state._replace(cursor=max(state.cursor, int(now)), pending=pending, running=_running(new, state, tuple(fresh)))


def withdrawn(state: State, old: Schedule, new: Schedule | None, now: float) -> list[Occurrence]:
    """Return the occurrences that were published ahead for *old* and do not run when it is *new* from *now* on (None: removed)."""
    kept = set(between(new.timetable, now, state.cursor)) if new is not None and not new.paused else set()
    ahead = () if old.paused else between(old.timetable, now, state.cursor)
    return [occurrence(old, moment) for moment in ahead if moment not in kept]


def _running(schedule: Schedule, state: State, more: tuple[int, ...]) -> tuple[int, ...]:
    return (*state.running, *more)[-MOST_RUNNING:] if schedule.max_instances else ()
