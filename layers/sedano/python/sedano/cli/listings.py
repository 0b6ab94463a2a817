"""Lists queues, workers, locks, circuits, schedules, tasks and failures: what the verbs of these names do.

Each list is a sequence of records. `_print` writes them as a table, or as one line of JSON for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from sedano.api.schedules import PeriodicTask
from sedano.app import Sedano
from sedano.cli.exits import Exit
from sedano.cli.printer import say, say_json, table
from sedano.errors import UnknownSchedule
from sedano.model import pauses
from sedano.model.messages.timestamps import shown
from sedano.model.schedules.timetable import At, Cron, Every, Timetable
from sedano.ports import command_queue
from sedano.views.tasks import failures, tasks


class Record(Protocol):
    """A named tuple."""

    def _asdict(self) -> dict[str, Any]: ...


class QueueRow(NamedTuple):
    """A command queue: messages that *wait* and that *run*, how many invocations it may have (None: unknown), whether it is *paused*."""

    queue: str
    wait: int
    run: int
    invocations: int | None
    paused: bool


class LockRow(NamedTuple):
    """A lease: its *owner*, its fencing *token*, when it *expires* (epoch s), and whether it is *held* now."""

    lock: str
    held: bool
    owner: str
    token: int
    expires: float


class ScheduleRow(NamedTuple):
    """A periodic task with its *next* moment (epoch s; None: paused or over)."""

    schedule: str
    task: str
    when: str
    next: float | None
    paused: bool
    missed: int


def queues(app: Sedano, as_json: bool) -> None:
    """Print the command queues of the app."""
    ports, limits = app.outlet.ports, app.control.inspect().limits()
    paused = pauses.queues_of(app.control.inspect().paused(), ports.clock.now())
    loads = {name: ports.consumers.load(command_queue(name)) for name in app.queues}
    rows = [QueueRow(name, load.waiting, load.running, limits.get(name), name in paused) for name, load in loads.items()]
    _print("queues", rows, as_json)


def workers(app: Sedano, as_json: bool) -> None:
    """Print the workers of the last three days."""
    found = app.control.members()
    if as_json:
        for one in found:
            say_json({"worker": one.name, "state": one.state, "seen": one.seen, "holds": one.holds})
        return
    table(("WORKER", "STATE", "SEEN", "HOLDS"), [(one.name, one.state, shown(one.seen), " ".join(one.holds)) for one in found])


def locks(app: Sedano, names: Sequence[str], as_json: bool) -> Exit:
    """Print the locks that are called *names*."""
    ports = app.outlet.ports
    keys = {name: [f"lock/{name}", name] for name in names}
    found = ports.leases.read([key for some in keys.values() for key in some])
    now = ports.clock.now()
    some, missing = [], []
    for name, (key, other) in keys.items():
        record = found.get(key) or found.get(other)
        if record is None:
            missing.append(name)
            continue
        expires = record.expires / 1_000
        some.append(LockRow(name, record.held and expires > now, record.owner, record.token, expires))
    if some:
        _print("locks", some, as_json)
    for name in missing:
        say(f"sedano locks: {name} was never taken, or was taken so long ago that it aged out", err=True)
    return Exit.NOT_FOUND if missing else Exit.DONE


def circuits(app: Sedano, as_json: bool) -> None:
    """Print the circuits that tasks of the app declare."""
    found = app.control.inspect().circuits()
    if as_json:
        for one in found:
            say_json(one._asdict())
        return
    rows = [
        (one.name, "open" if one.open else "closed" if one.shared else "in each worker", _moment(one.since), one.cause, " ".join(one.tasks))
        for one in found
    ]
    table(("CIRCUIT", "STATE", "SINCE", "CAUSE", "TASKS"), rows)


def schedules(app: Sedano, name: str | None, number: int, as_json: bool) -> None:
    """Print all periodic tasks, or the next *number* moments of the one called *name*.

    Raises:
        UnknownSchedule: no schedule has this name.
    """
    known = {one.name: one for one in app.schedules.list()}
    if name is not None:
        if name not in known:
            raise UnknownSchedule(f"{name}: the app has no schedule of this name; `sedano schedules` lists them")
        for moment in app.schedules.next(name, number):
            say_json({"schedule": name, "next": moment.timestamp()}) if as_json else say(moment.isoformat())
        return
    _print("schedules", [
        _schedule(one) for one in known.values()
    ], as_json)  # fmt: skip


def list_tasks(app: Sedano, *, days: int, state: str | None, name: str | None, limit: int, as_json: bool) -> None:
    """Print the latest tasks of the event history, those of one *state* or one *name* only."""
    _print("list", tasks(app.outlet.ports, days, state, name)[:limit], as_json)


def list_failures(app: Sedano, *, days: int, as_json: bool, fail_on: bool) -> Exit:
    """Print the failed tasks of the event history by task and error, the most frequent first."""
    found = failures(app.outlet.ports, days)
    _print("failures", found, as_json)
    return Exit.PROBLEMS if found and fail_on else Exit.DONE


def _print(verb: str, records: Sequence[Record], as_json: bool) -> None:
    """Write *records* as JSON lines, or as a table with their fields as its head."""
    if as_json:
        for one in records:
            say_json(one._asdict())
    elif records:
        table([name.upper() for name in records[0]._asdict()], [_row(one._asdict()) for one in records])
    else:
        say(f"sedano {verb}: there is nothing to list", err=True)


def _row(fields: dict[str, Any]) -> list[str]:
    return [_moment(value) if isinstance(value, float) else _text(value) for value in fields.values()]


def _text(value: object) -> str:
    if value is None or value == "":
        return "-"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _moment(value: float) -> str:
    return shown(value) if value else "-"


def _seconds(moment: datetime | None) -> float | None:
    return None if moment is None else moment.timestamp()


def _schedule(one: PeriodicTask) -> ScheduleRow:
    return ScheduleRow(
        schedule=one.name, task=one.task, when=_when(one.timetable), next=_seconds(one.next), paused=one.paused, missed=one.missed
    )  # fmt: skip


def _when(timetable: Timetable) -> str:
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
