"""The spans of a canvas, derived from its events: the waits and runs of each task, below the task that published it. Pure.

A task is a span from its publication to its end. Its child spans, in the order of time, are:

- ``queue``: from the publication to the first receipt. ``retry``: from the failure of an attempt to the receipt of the next one.
  ``redelivery``: from a receipt without an end to the next receipt, because a worker died or gave the message back.
- ``held``: a worker deferred the message, with the reason; the span ends with the next receipt, at the latest at the planned end.
- ``attempt``: from a receipt to the end of this attempt; its children are its ``body``, and the tasks that were published meanwhile.

A task that was published after its parent's attempts, such as the next step of a chain, is a child of the parent's span. The tree does not
depend on the order of the events or on copies. The terms are those of OpenTelemetry (a trace is a tree of spans).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from sedano.model.history.attempts import COPY, Attempt, attempts
from sedano.model.history.event_order import Stamp, stamp
from sedano.model.messages.lineage import derived_id, result_document_id
from sedano.model.states import HOLDING, PENDING

Kind = Literal["task", "queue", "retry", "redelivery", "held", "attempt", "body"]
MOST_PUBLICATIONS = 8
"""The subscribers of an event that an attempt published after so many others are shown below the root of the canvas."""
Events = Sequence[Mapping[str, Any]]


class TaskSpan(NamedTuple):
    """A span of the task *task* at its *depth* in the tree; *begin* and *end* are in epoch seconds, None if unknown.

    *label*: the name of the task, the number of the attempt, the reason of a hold, or else the kind. *state* is set for a task or an
    attempt.
    """

    depth: int
    kind: Kind
    task: str
    label: str
    begin: float | None
    end: float | None
    state: str = ""
    worker: str = ""
    error: str = ""

    @property
    def took(self) -> float | None:
        """Return the duration in seconds; None if *begin* or *end* is unknown, or if the clocks of two machines disagree."""
        return self.end - self.begin if self.begin is not None and self.end is not None and self.begin <= self.end else None


class _Task(NamedTuple):
    """A task of the tree, with its events in order."""

    uuid: str
    name: str
    parent: str
    first: Stamp
    attempts: tuple[Attempt, ...]
    held: tuple[tuple[float, float, str], ...]
    depth: int = 0


def root_of(events: Events, task_id: str) -> str:
    """Return the root of the canvas of *task_id* from its events, or else the task's own id."""
    return next((str(one["root_id"]) for one in events if one.get("uuid") == task_id and one.get("root_id")), task_id)


def spans(events: Events, root_id: str) -> list[TaskSpan]:
    """Return the spans of the canvas whose root is *root_id*, each before its children; events of other canvases are ignored."""
    known = _tasks(events, root_id)
    parents = _parents(known, root_id)
    below: dict[str, list[_Task]] = {}
    for one in sorted(known.values(), key=lambda one: one.first):
        if one.uuid != root_id:
            below.setdefault(parents[one.uuid], []).append(one)
    found: list[TaskSpan] = []
    left: list[_Task | TaskSpan] = [known[root_id]] if root_id in known else [*reversed(below.pop(root_id, []))]
    while left:
        item = left.pop()
        if isinstance(item, TaskSpan):
            found.append(item)
        else:
            left += reversed(_whole(item, below.pop(item.uuid, [])))
    return found


def _parents(known: Mapping[str, _Task], root_id: str) -> dict[str, str]:
    """Return the parent of each task: the task that published it, or the event or the document that called it; else the root.

    Events and documents are not tasks; their ids are derived from that of the task that published them, so that task can be found.
    """
    wanted = {one.parent for one in known.values()} - {*known, root_id, ""}
    published: dict[str, str] = {}
    for uuid, task in known.items() if wanted else ():
        published.update((one, uuid) for one in _publications(task) if one in wanted)
    found = {one.uuid: published.get(one.parent, one.parent) for one in known.values()}
    return {uuid: parent if parent in known and parent != uuid else root_id for uuid, parent in found.items()}


def _publications(task: _Task) -> Iterator[str]:
    """Yield the ids of the document and of the first events that *task* can have published in each of its attempts."""
    yield result_document_id(task.uuid)
    for attempt in sorted({0, *(run.number for run in task.attempts)}):
        salt = f"{attempt}/" if attempt else ""
        yield from (derived_id(task.uuid, f"{salt}{number}") for number in range(1, MOST_PUBLICATIONS + 1))


def _tasks(events: Events, root_id: str) -> dict[str, _Task]:
    """Return the tasks of the canvas *root_id* by id."""
    members = {str(one["uuid"]) for one in events if root_id in (one.get("root_id"), one.get("uuid")) and one.get("uuid")}
    of_task: dict[str, dict[Stamp, Mapping[str, Any]]] = {}
    for one in events:
        if one.get("uuid") in members and (one.get("type") == COPY or str(one.get("type")).startswith("task-")):
            at = stamp(one)
            of_task.setdefault(at.uuid, {})[at] = one
    return {uuid: _task(uuid, some) for uuid, some in of_task.items()}


def _task(uuid: str, events: Mapping[Stamp, Mapping[str, Any]]) -> _Task:
    ordered = [events[at] for at in sorted(events)]
    held = tuple(_held(at.timestamp, events[at]) for at in sorted(events) if at.type == HOLDING)
    return _Task(uuid, _said(ordered, "name") or "?", _said(ordered, "parent_id"), min(events), attempts(ordered, uuid), held)


def _held(at: float, event: Mapping[str, Any]) -> tuple[float, float, str]:
    until = event.get("until")
    return at, float(until) if isinstance(until, int | float) else at, _said([event], "reason") or "held"


def _said(events: Iterable[Mapping[str, Any]], field: str) -> str:
    return next((str(one[field]) for one in events if one.get(field)), "")


def _placed(some: Sequence[_Task], depth: int) -> list[_Task]:
    return [one._replace(depth=depth) for one in some]


def _whole(task: _Task, children: Sequence[_Task]) -> list[_Task | TaskSpan]:
    """Return the span of *task*, then its child spans, with its *children* in their positions."""
    depth, runs = task.depth, task.attempts
    last = runs[-1] if runs else None
    whole = TaskSpan(
        depth=depth, kind="task", task=task.uuid, label=task.name, begin=task.first.timestamp, end=last.ended if last else None,
        state=last.state if last else PENDING, worker=last.worker if last else "", error=last.error if last else "",
    )  # fmt: skip
    found: list[_Task | TaskSpan] = [whole]
    later = list(children)
    for number, run in enumerate(runs):
        meanwhile = [one for one in later if _within(one, run)]
        later = [one for one in later if one not in meanwhile]
        found += _before(task, runs, number, depth + 1)
        found += _attempt(task, run, depth + 1)
        found += _placed(meanwhile, depth + 2)
    found += _after(task, depth + 1)
    return [*found, *_placed(later, depth + 1)]


def _within(child: _Task, run: Attempt) -> bool:
    """Return whether *child* was published during the attempt *run*."""
    return run.started is not None and run.started <= child.first.timestamp <= (math.inf if run.ended is None else run.ended)


def _before(task: _Task, runs: Sequence[Attempt], number: int, depth: int) -> Iterator[TaskSpan]:
    """Yield the wait before the attempt *number*, and each hold in it."""
    run, last = runs[number], runs[number - 1] if number else None
    kind: Kind = "queue" if last is None else "redelivery" if last.ended is None else "retry"
    begin = run.sent if last is None else last.received if last.ended is None else last.ended
    if begin is not None and run.received is not None:
        yield TaskSpan(depth=depth, kind=kind, task=task.uuid, label=kind, begin=begin, end=run.received)
    for at, until, reason in task.held:
        if (last is None or last.received is None or at >= last.received) and run.received is not None and at < run.received:
            yield TaskSpan(depth=depth, kind="held", task=task.uuid, label=reason, begin=at, end=min(until, run.received))


def _after(task: _Task, depth: int) -> Iterator[TaskSpan]:
    """Yield each hold after the last receipt, while the task still waits."""
    received = [run.received for run in task.attempts if run.received is not None]
    for at, until, reason in task.held:
        if all(at >= receipt for receipt in received):
            yield TaskSpan(depth=depth, kind="held", task=task.uuid, label=reason, begin=at, end=until)


def _attempt(task: _Task, run: Attempt, depth: int) -> Iterator[TaskSpan]:
    begin = run.received if run.received is not None else run.started
    yield TaskSpan(
        depth=depth, kind="attempt", task=task.uuid, label=f"attempt {run.number}", begin=begin, end=run.ended, state=run.state,
        worker=run.worker, error=run.error,
    )  # fmt: skip
    if run.started is not None:
        yield TaskSpan(depth=depth + 1, kind="body", task=task.uuid, label="body", begin=run.started, end=run.ended)
