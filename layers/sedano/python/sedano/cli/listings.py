"""Lists queues, workers, locks, circuits, schedules, polls, tasks and failures: the work of the verbs of these names.

Each list is a sequence of records. `_print` writes them as a list for its reader, or as one document of JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from sedano.app import Sedano
from sedano.changes.configurations import configured
from sedano.cli.exits import Exit
from sedano.cli.printer import say
from sedano.cli.tables import Cell, Instant, Seconds, document, listing
from sedano.errors import OptionError, UnknownSchedule, UsageError
from sedano.model.messages.timestamps import shown
from sedano.views import circuits as of_circuits
from sedano.views import locks as of_locks
from sedano.views import polls as of_polls
from sedano.views import queues as of_queues
from sedano.views import schedules as of_schedules
from sedano.views import throughput as of_throughput
from sedano.views import workers as of_workers
from sedano.views.failures import failures
from sedano.views.plain import plain
from sedano.views.reader import About
from sedano.views.stage_changes import changes
from sedano.views.task_query import TaskQuery, parse
from sedano.views.tasks import tasks
from sedano.views.throughput_panels import sentence
from sedano.views.worker_panels import served_by

SPANS = frozenset({"waited", "ran", "age"})
"""Fields that are seconds; every other number with a fraction is a moment (epoch s)."""


WORKERS = (
    "WORKER", "STATE", "SEEN", "HOST", "QUEUES", "CONDITION", "LANES", "PREFETCH", "BEAT", "CODE", "LIBRARY", "CONFIG", "HINDRANCE",
    "HOLDS",
)  # fmt: skip


class Record(Protocol):
    """A named tuple."""

    def _asdict(self) -> dict[str, Any]: ...


def queues(app: Sedano, tenants: bool, as_json: bool) -> None:
    """Print the command queues of the app, or their *tenants*."""
    view = of_queues.queues(app, tenants=tenants)
    if not tenants:
        _print("queues", view.rows, view.about, as_json)
    elif as_json:
        document("queues.tenants", [one._asdict() for one in view.tenants], reads=plain(view.about.reads))
    else:
        rows = [
            (
                one.queue, one.tenant, one.tasks, f"{one.share:.0%}", Seconds(one.ran),
                None if one.waited is None else Seconds(one.waited), one.noisy,
            )
            for one in view.tenants
        ]  # fmt: skip
        _list("queues", ("QUEUE", "TENANT", "TASKS", "SHARE", "RAN", "WAITED", "NOISY"), rows, view.about.at)


def workers(app: Sedano, as_json: bool) -> None:
    """Print what runs where: the workers of the last three days; to a person also which hosts serve each queue."""
    view = of_workers.workers(app)
    if as_json:
        served = {one.queue: dict(one.served_by) for one in view.queues}
        scaled = {one.queue: one.wished for one in view.queues if one.wished is not None}
        document("workers", [_worker(one) for one in view.rows], served_by=served, scaled=scaled, reads=plain(view.about.reads))
        return
    rows = [
        (
            one.name, one.state, Instant(one.seen), one.report.host, " ".join(one.report.queues), one.report.condition, one.report.lanes,
            one.report.prefetch, Seconds(one.report.beat) if one.report.beat else None, one.report.code, one.report.library,
            one.report.config, "; ".join(one.hindrances), " ".join(one.holds),
        )
        for one in view.rows
    ]  # fmt: skip
    _list("workers", WORKERS, rows, view.about.at)
    for one in view.queues if view.rows else ():
        say(f"queue {one.queue}: {served_by(one.served_by)}{'' if one.wished is None else f', scaled to {one.wished}'}", err=True)


def active(app: Sedano, as_json: bool) -> None:
    """Print the tasks that run now, and on stderr the age of the oldest heartbeat that names one."""
    view = of_workers.active(app)
    _print("workers.active", view.rows, view.about, as_json)
    if view.rows and not as_json:
        age = max(0.0, view.about.at - min(one.seen for one in view.rows))
        say(f"according to heartbeats of the last {age:.0f} s; tasks that began since the heartbeat of their worker are missing", err=True)


def _worker(one: of_workers.WorkerRow) -> dict[str, Any]:
    report = one.report._asdict() | {"steps": [step._asdict() for step in one.report.steps]}
    return {"worker": one.name, "state": one.state, "seen": Instant(one.seen), "holds": one.holds, **report}


def locks(app: Sedano, names: Sequence[str], as_json: bool) -> Exit:
    """Print the locks that are called *names*, and the elections among them; without a name the singletons and the held permits that the
    app declares, and on stderr its rates."""
    if not names:
        held = of_locks.held(app)
        _print("locks", [*held.rows, *map(_of_permit, held.permits)], held.about, as_json, rates=plain(held.rates))
        for one in () if as_json else held.rates:
            say(f"rate of {one.task}: {one.rate}; reserved slots: {one.reserved}, the next one at {shown(one.next)}", err=True)
        return Exit.DONE
    view = of_locks.locks(app, names)
    if as_json or view.rows:
        _print("locks", view.rows, view.about, as_json, elections=plain(view.elections))
    if view.elections and not as_json:
        _print("locks", view.elections, view.about, as_json)
    for name in view.missing:
        say(f"sedano locks: {name} was never taken, or its record has expired", err=True)
    return Exit.NOT_FOUND if view.missing else Exit.DONE


def _of_permit(one: of_locks.PermitRow) -> of_locks.LockRow:
    name = f"{one.task} permit {one.number + 1} of {one.most}"
    return of_locks.LockRow(lock=name, held=True, owner=one.owner, token=one.token, expires=one.expires, waiting=one.waiting)


def configuration(app: Sedano, as_json: bool) -> None:
    """Print the fields of the app's configuration, each with its value and the layer that gives it.

    Raises:
        UsageError: the app declares no configuration.
        ConfigurationError: the layers give none that is valid.
    """
    rows = configured(app).rows()
    if as_json:
        document("config.show", [one._asdict() for one in rows])
        return
    _list("config show", ("FIELD", "VALUE", "LAYER", "COLD"), [(one.path, one.value, one.origin, one.cold) for one in rows], None)


def circuits(app: Sedano, as_json: bool) -> None:
    """Print the circuits that tasks of the app declare."""
    view = of_circuits.circuits(app)
    found = view.rows
    if as_json:
        _print("circuits", found, view.about, as_json)
        return
    rows = [
        (one.name, "open" if one.open else "closed" if one.shared else "in each worker", Instant(one.since), one.cause, " ".join(one.tasks))
        for one in found
    ]
    _list("circuits", ("CIRCUIT", "STATE", "SINCE", "CAUSE", "TASKS"), rows, view.about.at)


def schedules(app: Sedano, name: str | None, number: int, as_json: bool) -> None:
    """Print all periodic tasks, or the next *number* moments of the one called *name*.

    Raises:
        UnknownSchedule: no schedule has this name.
    """
    view = of_schedules.schedules(app, number)
    for why in view.unreadable:
        say(f"sedano schedules: some schedules are missing: {why}", err=True)
    if name is None:
        _print("schedules", view.rows, view.about, as_json)
        return
    if name not in view.moments:
        raise UnknownSchedule(f"{name}: the app has no schedule of this name; `sedano schedules` lists them")
    if as_json:
        items = [{"schedule": name, "next": Instant(one.at), "local": one.local, "note": one.note} for one in view.moments[name]]
        document("schedules.next", items, reads=plain(view.about.reads))
        return
    _list("schedules", ("LOCAL", "UTC", "NOTE"), [(one.local, Instant(one.at), one.note) for one in view.moments[name]], None)


def polls(app: Sedano, as_json: bool) -> None:
    """Print the polls of the app."""
    view = of_polls.polls(app)
    _print("polls", view.rows, view.about, as_json)


def throughput(app: Sedano, window: str, as_json: bool) -> None:
    """Print what got done in the last *window* by task, the most runs first; on stderr the window and its notes."""
    view = of_throughput.throughput(app, window)
    if as_json:
        facts = {name: plain(value) for name, value in view._asdict().items() if name not in ("tasks", "about")}
        document("throughput", [one._asdict() for one in view.tasks], reads=plain(view.about.reads), **facts)
        return
    head = ("TASK", "QUEUE", "RUNS", "FAILED", "RETRIED", "MEDIAN", "95 %", "WAITED 95 %", "RAN", "DOLLARS")
    rows = [
        (
            one.task, one.queue, one.ended, one.failed, one.retried, _seconds(one.median), _seconds(one.slow), _seconds(one.waited),
            Seconds(one.ran), None if one.nanodollars is None else f"{one.nanodollars / 1e9:.6f}",
        )
        for one in view.tasks
    ]  # fmt: skip
    _list("throughput", head, rows, view.about.at)
    say(*(f"sedano throughput: {one}" for one in (sentence(view), *view.notes)), err=True)


def list_tasks(app: Sedano, *, days: int, query: str, limit: int, as_json: bool) -> None:
    """Print the latest tasks of the event history that *query* finds.

    Raises:
        UsageError: the query has an unknown field.
    """
    view = tasks(app, days, searched(query), limit)
    _print("list", view.rows, view.about, as_json)


def searched(query: str) -> TaskQuery:
    """Return the search that *query* describes.

    Raises:
        UsageError: the query has an unknown field.
    """
    try:
        return parse(query)
    except OptionError as wrong:
        raise UsageError(str(wrong)) from wrong


def list_failures(app: Sedano, *, days: int, only_new: bool, as_json: bool, fail_on: bool) -> Exit:
    """Print the failed tasks by cause, the most frequent first; on stderr the failures that were not read, or were read elsewhere.

    Raises:
        UsageError: *only_new* is set, and the last deployment is unknown.
    """
    try:
        view = failures(app, days, only_new=only_new)
    except OptionError as wrong:
        raise UsageError(str(wrong)) from wrong
    _print("failures", view.groups, view.about, as_json, notes=view.notes)
    for note in () if as_json else view.notes:
        say(note, err=True)
    return Exit.PROBLEMS if view.groups and fail_on else Exit.DONE


def list_changes(app: Sedano, *, days: int, as_json: bool) -> None:
    """Print the changes that people made, the latest first; on stderr how many older ones are left out."""
    view = changes(app, days)
    _print("changes", view.rows, view.about, as_json, found=view.found, since=view.since)
    if view.found > len(view.rows) and not as_json:
        say(f"sedano changes: {view.found - len(view.rows)} older changes since {view.since} are not shown", err=True)


def _print(verb: str, records: Sequence[Record], about: About, as_json: bool, **facts: object) -> None:
    """Write *records* as one document of JSON with other *facts*, or as a table with their fields as its head; *about* the view that they
    are from.
    """
    named = [cells(one) for one in records]
    if as_json:
        document(verb, named, reads=plain(about.reads), **facts)
    else:
        _list(verb, [name.upper() for name in named[0]] if named else (), [[*one.values()] for one in named], about.at)


def cells(record: Record) -> dict[str, Cell]:
    """Return the fields of *record* as the cells of a list, by name."""
    return {name: _cell(name, value) for name, value in record._asdict().items()}


def _list(verb: str, head: Sequence[str], rows: Sequence[Sequence[Cell]], now: float | None) -> None:
    if rows:
        listing(head, rows, now=now)
    else:
        say(f"sedano {verb}: there is nothing to list", err=True)


def _seconds(value: float | None) -> Seconds | None:
    return None if value is None else Seconds(value)


def _cell(name: str, value: Any) -> Cell:
    if isinstance(value, float):
        return Seconds(value) if name in SPANS else Instant(value)
    cell: Cell = value
    return cell
