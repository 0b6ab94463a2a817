"""`app.schedules`: the periodic tasks, listed and changed at run time.

    app.schedules.add("hourly-acme", cron("0 * * * *"), export.s("acme"), max_instances=1)
    app.schedules.edit("hourly-acme", timetable=every(minutes=30))
    app.schedules.pause("hourly-acme")
    for one in app.schedules.list():
        print(one.name, one.task, one.next)

A change is one conditional write and takes effect at once: an occurrence that was published ahead (for the next 90 seconds) and no longer
applies is revoked. Declared schedules can be edited and paused here too; an edit holds until the declaration itself changes.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple

from sedano.api.schedule_declaration import PeriodicOptions, ScheduleApp, periodic_of
from sedano.canvas import Sig
from sedano.engine.schedules.scheduler import Scheduler
from sedano.errors import OptionError, UnknownOption, UnknownSchedule
from sedano.model.messages import codec, stamps
from sedano.model.schedules.agenda import Periodic, ScheduledCall, begun, changed
from sedano.model.schedules.schedule import occurrence
from sedano.model.schedules.timetable import Timetable, between, upcoming
from sedano.model.tasks.signature import Options, Signature
from sedano.result import AsyncResult
from sedano.task import Task

Results = list[AsyncResult[Any]]
MOST_BACKFILLED = 1_000
"""The most occurrences that one backfill publishes."""


class PeriodicTask(NamedTuple):
    """A periodic task: its schedule's *name*, the *task*, its *timetable*, and the moment of the *next* occurrence (None after the last
    one).

    *missed* counts the skipped occurrences; *declared*: whether it is declared in code.
    """

    name: str
    task: str
    timetable: Timetable
    next: datetime | None
    paused: bool
    missed: int
    declared: bool
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    queue: str
    options: PeriodicOptions


class Schedules:
    """The periodic tasks of one deployment."""

    def __init__(self, app: ScheduleApp) -> None:
        """Read and change the periodic tasks of the deployment to which *app* publishes."""
        self._app = app

    def add(
        self, name: str, timetable: Timetable, call: Sig[Any] | Task[Any, Any], *, jitter: int = 0, misfire_grace: int | None = None,
        coalesce: bool = True, max_instances: int | None = None, moment: str | None = None,
    ) -> PeriodicTask:  # fmt: skip
        """Add a periodic task at run time; adding the same task again changes nothing.

        Args:
            name: its name.
            timetable: `cron(…)`, `every(…)` or `at(…)`.
            call: a task, or a signature (`task.s(…)`) whose options may be *queue*, *expires* (seconds from the moment), *ignore_result*,
                *tenant* and *stamps*.
            jitter, misfire_grace, coalesce, max_instances, moment: see `Sedano.periodic`.

        Raises:
            OptionError: an option cannot be honoured, or another schedule has the name.
            TooLarge: the arguments are longer than 16 KB, or there are too many schedules.
            Unavailable: the store did not answer; adding again is safe.
        """
        options = PeriodicOptions(jitter, misfire_grace, coalesce, max_instances, moment)
        if name in self._app.periodics:
            raise OptionError(f"name: {name!r} is declared in code; give another name, or edit the existing one")
        wanted = periodic_of(self._app, name, timetable, _signature(call), options)

        def alter(found: Periodic | None) -> Periodic:
            if found is None:
                return begun(wanted, self._now())
            if (found.schedule._replace(paused=False), found.call) != (wanted.schedule, wanted.call):
                raise OptionError(f"name: the schedule {name!r} already exists; edit it, or give another name")
            return found

        return self._changed(name, alter)

    def edit(
        self, name: str, *, timetable: Timetable | None = None, call: Sig[Any] | Task[Any, Any] | None = None, **options: Any
    ) -> PeriodicTask:
        """Change a periodic task; options that are not given stay as they are.

        The change takes effect at once. Past moments of the new timetable do not run. An occurrence that was published ahead and is not a
        moment of the new timetable is revoked; with another *call*, occurrences that were published ahead still make the old call.

        Args:
            name: its name.
            timetable: the new one.
            call: the new task or signature.
            options: *jitter*, *misfire_grace*, *coalesce*, *max_instances*, *moment*, as in `add`.

        Raises:
            UnknownSchedule: no schedule has this name.
            OptionError: an option cannot be honoured.
        """
        unknown = sorted(set(options) - set(PeriodicOptions._fields))
        if unknown:
            raise UnknownOption(unknown[0], PeriodicOptions._fields, "a schedule")

        def alter(found: Periodic | None) -> Periodic:
            old = self._known(name, found)
            asked = _options(old)._replace(**options)
            signature = _signature(call) if call is not None else _made(old.call)
            new = periodic_of(self._app, name, timetable or old.schedule.timetable, signature, asked)
            return changed(old, new.schedule._replace(paused=old.schedule.paused), new.call, self._now())

        return self._changed(name, alter)

    def pause(self, name: str) -> PeriodicTask:
        """Pause a periodic task: its occurrences are skipped, including those published ahead for the next 90 seconds.

        Raises:
            UnknownSchedule: no schedule has this name.
        """
        return self._rested(name, paused=True)

    def resume(self, name: str) -> PeriodicTask:
        """Resume a paused periodic task with its next moment.

        Raises:
            UnknownSchedule: no schedule has this name.
        """
        return self._rested(name, paused=False)

    def remove(self, name: str) -> None:
        """Remove a periodic task that was added at run time, and revoke its occurrences that were published ahead.

        Raises:
            UnknownSchedule: no schedule has this name.
            OptionError: it is declared in code, which would add it again.
        """

        def alter(found: Periodic | None) -> None:
            if name in self._app.periodics or (found is not None and found.declared):
                raise OptionError(f"name: {name!r} is declared in code; remove the declaration, or pause it")
            self._known(name, found)

        self._scheduler.change(name, alter)

    def next(self, name: str, number: int = 1) -> list[datetime]:
        """Return the next *number* moments, without jitter, in the timetable's time zone; fewer if it ends, none while it is paused.

        Raises:
            UnknownSchedule: no schedule has this name.
            OptionError: *number* is not a whole number from 1 to 1 000.
        """
        if type(number) is not int or not 1 <= number <= MOST_BACKFILLED:
            raise OptionError(f"number: {number!r} is not a whole number from 1 to {MOST_BACKFILLED}")
        schedule = self._known(name, self._scheduler.read().get(name)).schedule
        return [] if schedule.paused else upcoming(schedule.timetable, self._now(), number)

    def backfill(self, name: str, start: datetime, end: datetime) -> list[AsyncResult[Any]]:
        """Publish the occurrences from *start* to *end* that did not run, such as those before the schedule existed, and return them all.

        An occurrence that ran or was revoked does not run again while its record is kept (44 days).

        Raises:
            UnknownSchedule: no schedule has this name.
            OptionError: a time has no zone or is in the future, *end* is before *start*, or they have more than a thousand moments between
                them.
            Unavailable: not all could be published; trying again is safe.
        """
        for field, moment in (("start", start), ("end", end)):
            given: object = moment
            if not isinstance(given, datetime) or given.utcoffset() is None:
                raise OptionError(f"{field}: expected a datetime with a time zone, got {moment!r}")
        first, last = start.timestamp(), end.timestamp()
        if not 0 <= first <= last <= self._now():
            raise OptionError(f"start, end: {start} to {end} is not a span of time in the past; future moments are published automatically")
        found = self._known(name, self._scheduler.read().get(name))
        moments = [*islice(between(found.schedule.timetable, first - 1e-6, last), MOST_BACKFILLED + 1)]
        if len(moments) > MOST_BACKFILLED:
            raise OptionError(f"start, end: there are more than {MOST_BACKFILLED} moments between them; backfill them in parts")
        return self._published(found, moments)

    def trigger(self, name: str) -> AsyncResult[Any]:
        """Publish one occurrence now, in addition to the timetable, even if the schedule is paused. Calling it twice within a second
        publishes one.

        It never expires, has no jitter, and `max_instances` does not count it.

        Raises:
            UnknownSchedule: no schedule has this name.
            Unavailable: it could not be published; trying again is safe.
        """
        (result,) = self._published(self._known(name, self._scheduler.read().get(name)), [int(self._now())])
        return result

    def _published(self, found: Periodic, moments: Sequence[int]) -> Results:
        """Publish the occurrences of *found* at *moments*, which are not in the future, without the limits of the schedule."""
        late = found._replace(schedule=found.schedule._replace(jitter=0, max_instances=None), call=found.call._replace(expires=None))
        errors = [error for error in self._scheduler.publish(late, moments) if error is not None]
        if errors:
            raise errors[0]
        return [AsyncResult(self._app.outlet, occurrence(found.schedule, moment).task_id) for moment in moments]

    def _rested(self, name: str, *, paused: bool) -> PeriodicTask:
        def alter(found: Periodic | None) -> Periodic:
            old = self._known(name, found)
            return changed(old, old.schedule._replace(paused=paused), old.call, self._now())

        return self._changed(name, alter)

    def _known(self, name: str, found: Periodic | None) -> Periodic:
        """Return the schedule called *name*: from the store, or from code before its first round."""
        if found is not None:
            return found
        if name in self._app.periodics:
            return begun(self._app.periodics[name], self._now())
        raise UnknownSchedule(f"no schedule {name!r}; app.schedules.list() returns all")

    def _changed(self, name: str, alter: Callable[[Periodic | None], Periodic]) -> PeriodicTask:
        found = self._scheduler.change(name, alter)
        if found is None:  # removed by another between the two
            raise UnknownSchedule(f"schedule {name!r} was removed during this call")
        return _shown(found, self._now())

    def _now(self) -> float:
        return self._app.outlet.ports.clock.now()

    @property
    def _scheduler(self) -> Scheduler:
        outlet = self._app.outlet
        return Scheduler(outlet.ports, outlet.lamport, f"{self._app.name}@{socket.gethostname()}")

    def list(self) -> list[PeriodicTask]:
        """Return all periodic tasks by name, including those declared in code that the scheduler has not seen yet."""
        found = {**self._app.periodics, **self._scheduler.read()}
        now = self._app.outlet.ports.clock.now()
        return [_shown(found[name], now) for name in sorted(found)]


def _signature(call: object) -> Signature:
    if isinstance(call, Task):
        return Signature(call.name)
    if not isinstance(call, Sig):
        raise OptionError(f"call: expected a task or its signature, got {type(call).__name__}; a canvas is published by a task")
    return call.spec


def _made(call: ScheduledCall) -> Signature:
    """Return the signature of the stored *call*."""
    args, kwargs = codec.decode_data(call.data.encode())
    options = Options(
        queue=call.queue,
        expires=call.expires,
        ignore_result=call.ignore_result,
        tenant=call.tenant,
        stamps=stamps.read(call.stamps) or None,
    )
    return Signature(call.task, args, kwargs, options)


def _options(found: Periodic) -> PeriodicOptions:
    schedule = found.schedule
    return PeriodicOptions(schedule.jitter, schedule.misfire_grace, schedule.coalesce, schedule.max_instances, found.call.moment)


def _shown(found: Periodic, now: float) -> PeriodicTask:
    schedule, call = found.schedule, found.call
    args, kwargs = codec.decode_data(call.data.encode())
    following = None if schedule.paused else next(iter(upcoming(schedule.timetable, now, 1)), None)
    return PeriodicTask(
        name=schedule.name, task=call.task, timetable=schedule.timetable, next=following, paused=schedule.paused,
        missed=found.state.missed, declared=bool(found.declared), args=args, kwargs=kwargs, queue=call.queue, options=_options(found),
    )  # fmt: skip
