"""Screens: a view laid out as titled tables of cells, once for all renderers. A page and a terminal draw the screen; JSON is the view.

A cell has a kind (a state, a moment, a task's id), not a style. Texts are as the stores have them: each renderer escapes them in its
own way.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from shlex import quote as _quoted

from sedano.api.inspection import CircuitView
from sedano.app import Sedano
from sedano.errors import OptionError, UsageError
from sedano.model.history.task_costs import WorkerCost
from sedano.model.messages.timestamps import shown
from sedano.model.states import TERMINAL
from sedano.views import canvas as of_canvas
from sedano.views import circuits as of_circuits
from sedano.views import costs as of_costs
from sedano.views import failures as of_failures
from sedano.views import lock_panels, queue_panels, throughput_panels, worker_panels
from sedano.views import locks as of_locks
from sedano.views import now as of_now
from sedano.views import queues as of_queues
from sedano.views import schedules as of_schedules
from sedano.views import spending as of_spending
from sedano.views import stage_changes as of_changes
from sedano.views import tail as of_tail
from sedano.views import task as of_task
from sedano.views import tasks as of_tasks
from sedano.views import throughput as of_throughput
from sedano.views import trace as of_trace
from sedano.views import workers as of_workers
from sedano.views.panels import Cell, Panel, Screen, ScreenQuery, after, dollars, moment, none_since, span, unreadable
from sedano.views.task_query import parse
from sedano.views.tasks import TaskRow

OF_ID = ("task", "canvas", "trace")
"""The screens that need an id."""
MOST_DAYS = 44
MOST_TASKS = 200
NEW, TENANTS = "new", "tenants"
"""The query of the failures for causes that are new since the last deployment, and that of the queues for their tenants."""


def screen(app: Sedano, asked: ScreenQuery) -> Screen:
    """Return the screen that *asked* names.

    Raises:
        UsageError: the screen is not in the list, or *days* is not in its range.
        OptionError: the query or the id is invalid.
    """
    if asked.name not in SCREENS:
        raise UsageError(f"{asked.name[:40]!r} is not a screen; choose one of {', '.join(SCREENS)}")
    if not 1 <= asked.days <= MOST_DAYS:
        raise UsageError(f"days: {asked.days} is not a number from 1 to {MOST_DAYS}")
    return SCREENS[asked.name](app, asked)


def now(app: Sedano, asked: ScreenQuery) -> Screen:
    """Lay out what needs a person now."""
    view = of_now.now(app)
    rows = tuple((Cell(one.kind, "bad"), Cell(one.sentence)) for one in view.needs)
    states = sorted(view.by_state.items())
    counts = tuple((Cell(state, "search", f"state:{state}"), Cell(str(number), "number")) for state, number in states)
    at_work = tuple((Cell(state), Cell(str(number), "number")) for state, number in sorted(view.workers.items()))
    tables = (
        Panel("Needs you", ("what", "why"), rows, "Nothing needs you."),
        Panel("Tasks of today", ("state", "tasks"), counts, "No task was worked on today."),
        queue_panels.of_queues(view.queues),
        Panel("Workers", ("state", "workers"), at_work, "No worker was seen in three days."),
        _tasks("Latest", view.latest),
    )
    notes = (*view.notes, *unreadable(view.unreadable))
    return Screen(title="Now", notes=notes, tables=tables, command="sedano top", about=view.about, view=view)


def tasks(app: Sedano, asked: ScreenQuery) -> Screen:
    """Lay out the tasks that a search finds."""
    view = of_tasks.tasks(app, asked.days, parse(asked.query), MOST_TASKS)
    kept = (f"{view.kept} of them are in the ledger alone: the events of these days have nothing of them.",) * bool(view.kept)
    notes = (f"{view.found} of {view.looked_at} tasks since {view.since} match; {len(view.rows)} are shown.", *kept)
    notes = (*notes, *unreadable(view.unreadable))
    command = " ".join(["sedano list", *map(_quoted, asked.query.split()), f"--days {asked.days}"])
    return Screen(
        title="Tasks", notes=notes, tables=(_tasks("Tasks, the latest first", view.rows),),
        command=command, about=view.about, view=view,
    )  # fmt: skip


def failures(app: Sedano, asked: ScreenQuery) -> Screen:
    """Lay out the failed tasks by cause."""
    view = of_failures.failures(app, asked.days, only_new=_is_asked(asked.query, NEW))
    rows = tuple(
        (
            Cell(str(one.number), "number"), Cell("new", "bad") if one.new else Cell(""), Cell(one.task, "search", one.query),
            Cell(one.error, "bad"), Cell(one.where), moment(one.first), moment(one.last), Cell(one.example, "task", one.example),
        )
        for one in view.groups
    )  # fmt: skip
    columns = ("number", "new", "task", "error", "where", "first", "last", "example")
    table = Panel("Causes", columns, rows, "No cause is new." if asked.query else "No task failed.")
    notes = (f"{view.failed} tasks failed since {view.since}.", *view.notes, *unreadable(view.unreadable))
    command = f"sedano failures --days {asked.days}{' --new' * bool(asked.query)}"
    return Screen(title="Failures", notes=notes, tables=(table,), command=command, about=view.about, view=view)


def throughput(app: Sedano, asked: ScreenQuery) -> Screen:
    """Lay out the throughput of a window; the query is the length of the window, an hour by default."""
    window = asked.query.strip() or "1h"
    view = of_throughput.throughput(app, window)
    notes, tables = (throughput_panels.sentence(view), *view.notes), (throughput_panels.of_tasks(view), throughput_panels.of_slots(view))
    return Screen(title="Throughput", notes=notes, tables=tables, command=f"sedano throughput --last {window}", about=view.about, view=view)


def _is_asked(query: str, word: str) -> bool:
    """Return whether the *query* of a screen is *word*, the only filter of that screen.

    Raises:
        OptionError: the query is neither *word* nor empty.
    """
    if query.strip() not in ("", word):
        raise OptionError(f"{query[:40]!r} is not a filter of this page; write {word}, or nothing")
    return bool(query.strip())


def queues(app: Sedano, asked: ScreenQuery) -> Screen:
    """Lay out the command queues; the query `tenants` asks for the tenants of the last hour as well."""
    wants = _is_asked(asked.query, TENANTS)
    view = of_queues.queues(app, tenants=wants)
    tables = [queue_panels.of_queues(view.rows), *([queue_panels.of_tenants(view.tenants)] if wants else [])]
    command = f"sedano queues{' --tenants' * wants}"
    notes = (*view.notes, *unreadable(view.unreadable))
    return Screen(title="Queues", notes=notes, tables=tuple(tables), command=command, about=view.about, view=view)


def workers(app: Sedano, asked: ScreenQuery) -> Screen:
    """Lay out the workers of the last three days, and the hosts of each queue."""
    view = of_workers.workers(app)
    return Screen(
        title="Workers", notes=(), tables=worker_panels.of_workers(view), command="sedano workers", about=view.about, view=view
    )  # fmt: skip


def schedules(app: Sedano, asked: ScreenQuery) -> Screen:
    """Lay out the periodic tasks with their next moments in both zones."""
    view = of_schedules.schedules(app)
    rows = tuple(
        (
            Cell(one.schedule), Cell(one.task), Cell(one.when), Cell("paused") if one.paused else moment(one.next or 0.0),
            Cell("late", "bad") if one.late else Cell(""), Cell(str(one.missed), "number"),
        )
        for one in view.rows
    )  # fmt: skip
    moments = tuple((Cell(name), Cell(one.utc), Cell(one.local), Cell(one.note)) for name, some in view.moments.items() for one in some)
    tables = (
        Panel("Schedules", ("schedule", "task", "when", "next", "late", "missed"), rows, "The app has no schedules."),
        Panel("Next moments", ("schedule", "UTC", "local", "clocks"), moments, "No schedule has a further moment."),
    )
    return Screen(title="Schedules", notes=view.unreadable, tables=tables, command="sedano schedules", about=view.about, view=view)


def locks(app: Sedano, asked: ScreenQuery) -> Screen:
    """Lay out the locks that are asked for, declared singletons, permits and rates, elections that are asked for, and the circuits."""
    held = of_locks.held(app, asked.query.split())
    notes = tuple(f"{name} was never taken, or its record has expired." for name in held.missing)
    command = " ".join(["sedano locks", *map(_quoted, asked.query.split())])
    tables = (*lock_panels.of_locks(held), _circuits(held.circuits))
    return Screen(title="Locks", notes=notes, tables=tables, command=command, about=held.about, view=held)


def circuits(app: Sedano, asked: ScreenQuery) -> Screen:
    """Lay out the circuits of the app's tasks."""
    view = of_circuits.circuits(app)
    return Screen(title="Circuits", notes=(), tables=(_circuits(view.rows),), command="sedano circuits", about=view.about, view=view)


def events(app: Sedano, asked: ScreenQuery) -> Screen:
    """Lay out the latest events of the history in causal order, the latest first."""
    view = of_tail.events(app, asked.days, asked.query.split())
    rows = tuple(
        (
            moment(one.at), Cell(one.type), Cell(one.name), Cell(one.id, "task", one.id) if one.id else Cell(""), Cell(one.worker),
            Cell(one.error, "bad"), Cell("late") if one.late else Cell(""),
        )
        for one in view.events
    )  # fmt: skip
    table = Panel("Events, the latest first", ("at", "type", "task", "id", "worker", "error", "late"), rows, "No event.")
    notes = (f"{view.found} events since {view.since}; {len(view.events)} are shown.", *unreadable(view.unreadable))
    command = " ".join(["sedano tail", *map(_quoted, asked.query.split()), f"--days {asked.days}"])
    return Screen(title="Events", notes=notes, tables=(table,), command=command, about=view.about, view=view)


def costs(app: Sedano, asked: ScreenQuery) -> Screen:
    """Lay out the cost of tasks by name, queue and tenant, of canvases, and of the workers."""
    view = of_costs.costs(app, asked.days)
    rows = tuple(
        (
            Cell(one.name, "search", f"name:{one.name}") if one.tasks else Cell(one.name), Cell(one.queue), Cell(one.tenant),
            Cell(one.basis), Cell(str(one.tasks), "number"), Cell(str(one.attempts), "number"), span(one.run_micros / 1e6),
            dollars(one.nanodollars), Cell("-" if one.dollars_a_million is None else f"${one.dollars_a_million:,.2f}", "number"),
        )
        for one in view.tasks
    )  # fmt: skip
    columns = ("task", "queue", "tenant", "basis", "tasks", "attempts", "ran", "cost", "a million")
    canvases = tuple(
        (Cell(one.name), Cell(one.root, "canvas", one.root), Cell(str(one.tasks), "number"), dollars(one.nanodollars))
        for one in view.canvases
    )
    tables = (
        *of_spending.panels(view.limits),
        Panel("Tasks, the most expensive first", columns, rows, "No task was worked on."),
        Panel("Canvases, the most expensive first", ("first task", "root", "tasks", "cost"), canvases, "No canvas of several tasks."),
    )
    notes = (f"{dollars(view.nanodollars).text} since {view.since} by the list prices of us-east-1.", *_batches(view.workers))
    return Screen(
        title="Cost", notes=(*notes, *unreadable(view.unreadable)), tables=tables, command=f"sedano cost --days {asked.days}",
        about=view.about, view=view,
    )  # fmt: skip


def changes(app: Sedano, asked: ScreenQuery) -> Screen:
    """Lay out the changes that people made."""
    view = of_changes.changes(app, asked.days)
    rows = tuple(
        (
            moment(one.at), Cell(one.by), Cell(one.verb), Cell(one.what), _number(one.changed), _number(one.left), Cell(one.reason),
            Cell(one.error, "bad"),
        )
        for one in view.rows
    )  # fmt: skip
    columns, none = ("at", "by", "verb", "what", "changed", "left", "reason", "error"), "No changes were made to the stage."
    notes = (f"{view.found} changes since {view.since}; {len(view.rows)} are shown.", *unreadable(view.unreadable))
    return Screen(
        title="Changes", notes=notes, tables=(Panel("Changes, the latest first", columns, rows, none),),
        command=f"sedano changes --days {asked.days}", about=view.about, view=view,
    )  # fmt: skip


def task(app: Sedano, asked: ScreenQuery) -> Screen:
    """Lay out one task: why it is not running, its record, its error, its attempts, its parent and its children."""
    view = of_task.task(app, asked.id, days=asked.days, redact=asked.redact, quick=True)
    record = view.record or {}
    shown_apart = ("error", "retry")
    facts = [(name, _fact(name, value)) for name, value in record.items() if name not in shown_apart and value not in (None, "", 0, 0.0)]
    kin = [("root", Cell(view.root, "canvas", view.root))] if view.root else []
    kin += [("parent", Cell(view.parent, "task", view.parent))] if view.parent else []
    kin += [("trace", Cell("its canvas in time", "trace", view.id))] if view.attempts else []
    error = record.get("error")
    said = [("error", Cell(f"{error['type_name']}: {error['message']}", "bad"))] if error else []
    rows = tuple((Cell(name), cell) for name, cell in (("state", Cell(view.state, "state")), *said, *kin, *facts))
    columns, none = ("attempt", "state", "worker", "received", "waited", "ran", "error"), f"The history since {view.since} has none."
    tables = (
        Panel("Record", ("field", "value"), rows, ""),
        Panel("Attempts", columns, _attempts(view), none),
        Panel("Traceback, the innermost frame last", ("yours", "place", "code"), _frames(view), "No traceback was recorded."),
        _tasks("Published by it", view.children),
    )
    more = f"`sedano explain {_quoted(view.id)}` also looks at timers, parked messages and dead letters."
    rerun = f"`sedano retry {_quoted(view.id)}` runs it again, with the arguments of its last attempt under a new id."
    notes = (view.sentence, *([rerun] if record.get("retry") else []), *([] if view.state in TERMINAL else [more]))
    return Screen(
        title=f"Task {view.id}", notes=notes, tables=tables,
        command=f"sedano show {_quoted(view.id)}", about=view.about, view=view,
    )  # fmt: skip


def canvas(app: Sedano, asked: ScreenQuery) -> Screen:
    """Lay out a canvas as the tree of its tasks, and the steps of a workflow."""
    view = of_canvas.canvas(app, asked.id, asked.days, failures_only=asked.failures_only)
    boxes = tuple(
        (
            Cell("  " * min(box.depth, 40) + box.task.name), Cell(box.task.state, "state"), span(box.task.waited), span(box.task.ran),
            Cell("critical") if box.critical else Cell(""), Cell(box.task.id, "task", box.task.id),
        )
        for box in view.boxes
    )  # fmt: skip
    steps = view.run.steps if view.run is not None else ()
    rows = tuple(
        (Cell(one.name), Cell(one.state), Cell(one.task), Cell(one.task_id, "task", one.task_id), Cell(one.detail)) for one in steps
    )
    counted = ", ".join(f"{number} {state}" for state, number in sorted(view.progress.items()))
    left = (f"{view.left_out} more tasks are left out.",) * bool(view.left_out)
    tables = [Panel("Tasks", ("task", "state", "waited", "ran", "path", "id"), boxes, none_since(view.since))]
    tables += [Panel("Steps", ("step", "state", "task", "id", "detail"), rows, "")] if steps else []
    notes, command = (counted or "No task is known.", *left), f"sedano list root:{_quoted(view.id)}"
    return Screen(title=f"Canvas {view.id}", notes=notes, tables=tuple(tables), command=command, about=view.about, view=view)


def trace(app: Sedano, asked: ScreenQuery) -> Screen:
    """Lay out the spans of a canvas."""
    view = of_trace.trace(app, asked.id, asked.days, redact=asked.redact)
    began = min((one.begin for one in view.spans if one.begin is not None), default=0.0)
    rows = tuple(
        (
            Cell("  " * min(one.depth, 40) + one.label), Cell(one.state, "state" if one.state else ""), after(one.begin, began),
            span(one.took), Cell(one.worker), Cell(one.task, "task", one.task) if one.kind == "task" else Cell(one.error, "bad"),
        )
        for one in view.spans
    )  # fmt: skip
    table = Panel("Spans", ("span", "state", "begin", "took", "worker", "id or error"), rows, none_since(view.since))
    notes = (f"{view.tasks} tasks of the canvas {view.root}; it began {shown(began)}.",) if view.spans else ()
    left = (f"{view.left_out} more spans are left out.",) * bool(view.left_out)
    return Screen(
        title=f"Trace {view.id}", notes=(*notes, *left, *unreadable(view.unreadable)), tables=(table,),
        command=f"sedano trace {_quoted(view.id)} --days {asked.days}", about=view.about, view=view,
    )  # fmt: skip


SCREENS: Mapping[str, Callable[[Sedano, ScreenQuery], Screen]] = {
    "now": now, "tasks": tasks, "failures": failures, "throughput": throughput, "queues": queues, "schedules": schedules,
    "workers": workers, "locks": locks, "circuits": circuits, "events": events, "changes": changes, "cost": costs, "task": task,
    "canvas": canvas, "trace": trace,
}  # fmt: skip
"""Every screen by its name."""
LISTED = tuple(name for name in SCREENS if name not in OF_ID)
"""The screens of the navigation, in their order."""


def _tasks(title: str, rows: Sequence[TaskRow]) -> Panel:
    columns = ("task", "name", "state", "at", "waited", "ran", "queue", "error")
    cells = tuple(
        (
            Cell(one.id, "task", one.id), Cell(one.name), Cell(one.state, "state"), moment(one.at), span(one.waited), span(one.ran),
            Cell(one.queue), Cell(one.error),
        )
        for one in rows
    )  # fmt: skip
    return Panel(title, columns, cells, "No tasks.")


def _attempts(view: of_task.TaskView) -> tuple[tuple[Cell, ...], ...]:
    return tuple(
        (
            Cell(str(one.number + 1), "number"), Cell(one.state, "state"), Cell(one.worker), moment(one.received or 0.0),
            span(one.waited), span(one.ran), Cell(one.error),
        )
        for one in view.attempts
    )  # fmt: skip


def _frames(view: of_task.TaskView) -> tuple[tuple[Cell, ...], ...]:
    return tuple(
        (Cell("yours" if one.own else ""), Cell(f"{one.file}:{one.line} in {one.function}"), Cell(one.code)) for one in view.frames
    )


def _number(number: int | None) -> Cell:
    return Cell("-" if number is None else str(number), "number")


def _fact(name: str, value: object) -> Cell:
    if isinstance(value, float) and name in ("expires", "not_before", "changed"):
        return moment(value)
    if name in ("headers", "meta") and isinstance(value, dict):
        return Cell(json.dumps(value))
    return Cell(of_task.call_text(value) if isinstance(value, dict) else str(value))


def _circuits(found: Sequence[CircuitView]) -> Panel:
    rows = tuple(
        (Cell(one.name), _circuit(one.shared, one.open), moment(one.until), Cell(one.cause), Cell(" ".join(one.tasks))) for one in found
    )
    return Panel("Circuits", ("circuit", "state", "until", "cause", "tasks"), rows, "No task has a circuit.")


def _circuit(shared: bool, is_open: bool) -> Cell:
    return Cell("open", "bad") if is_open else Cell("closed" if shared else "in each worker")


def _batches(workers: WorkerCost) -> tuple[str, ...]:
    """Return the saving of full batches as a note, if functions report their invocations."""
    if not workers.invocations:
        return ("No function reported its invocations, so the cost is estimated as if each attempt had run alone on Lambda.",)
    filled = workers.messages / workers.invocations
    saved = dollars(workers.avoidable).text
    return (f"Workers got {filled:.1f} messages an invocation; full batches would save {saved} of the charge for invocations.",)
