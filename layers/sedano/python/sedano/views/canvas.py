"""A canvas or a workflow: its tasks as a tree of boxes, the number in each state, and the path to the task that ended last.

A run of a workflow is read from its own item and the records of its steps. Any other canvas is read from the history: each task names its
root and its parent, so the tree needs no record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sedano.app import Sedano
from sedano.model import states
from sedano.model.history.registers import Timeline
from sedano.model.workflow.flow_run import ENDED
from sedano.ports.absent import has
from sedano.views.cluster import first_day, timelines
from sedano.views.reader import About, Reader
from sedano.views.tasks import TaskRow, row
from sedano.workflow import FlowView, find

MOST_BOXES = 1_000
FAILED = frozenset({states.FAILURE, states.POISON, states.REVOKED, states.EXPIRED})


class Box(NamedTuple):
    """A *task* of a canvas at its *depth* below the root (0); *critical*: it is on the path to the task that ended last."""

    depth: int
    task: TaskRow
    critical: bool = False


class CanvasView(NamedTuple):
    """A canvas: the *boxes* of its tree from the root, each before its children, and how many tasks are in each state (*progress*).

    *run*: the run of a workflow of this id, with its steps; None for any other canvas. *left_out*: the boxes beyond the first thousand.
    """

    id: str
    progress: Mapping[str, int]
    boxes: tuple[Box, ...]
    left_out: int
    run: FlowView | None
    since: str
    about: About


class RunView(NamedTuple):
    """A run of a workflow with the state of each of its steps."""

    run: FlowView
    about: About


def run(app: Sedano, run_id: str) -> RunView:
    """Return the run *run_id* of a workflow: its item, and the records of its steps.

    Raises:
        UnknownFlowRun: no run has this id, or no worker has begun it.
    """
    reader = Reader(app)
    found = find(reader, run_id).show()
    return RunView(found, reader.about(settled=found.state in ENDED))


def canvas(app: Sedano, root_id: str, days: int = 2, *, failures_only: bool = False) -> CanvasView:
    """Return the canvas or run whose root is *root_id*, with its tasks of the last *days*; *failures_only*: with failed boxes only."""
    reader = Reader(app)
    known = reader.ports.flow_runs.read(root_id) if has(reader.ports.flow_runs) else None
    found = find(reader, root_id).show() if known is not None else None
    every, _ = timelines(reader.ports, days)
    tasks = [one for one in every if root_id in (one.uuid, one.fields["root_id"])]
    boxes = tree(tasks, root_id)
    chosen = [box for box in boxes if box.task.state in FAILED] if failures_only else boxes
    ended = bool(tasks) and all(one.state in states.TERMINAL for one in tasks)
    return CanvasView(
        id=root_id, progress=dict(Counter(str(one.state) for one in tasks)), boxes=tuple(chosen[:MOST_BOXES]),
        left_out=max(0, len(chosen) - MOST_BOXES), run=found, since=first_day(reader.ports, days),
        about=reader.about(settled=ended if found is None else found.state in ENDED),
    )  # fmt: skip


def tree(tasks: Sequence[Timeline], root_id: str) -> list[Box]:
    """Return *tasks* as the tree below *root_id*, each before its children; a task with an unknown parent is below the root."""
    known = {one.uuid: one for one in tasks}
    below: dict[str, list[Timeline]] = {}
    for one in sorted(tasks, key=lambda one: (min(one.times.values(), default=0.0), one.uuid)):
        parent = str(one.fields["parent_id"] or "")
        if one.uuid != root_id:
            below.setdefault(parent if parent in known and parent != one.uuid else root_id, []).append(one)
    critical = _path(known, root_id)
    boxes: list[Box] = []
    left = [(0, known[root_id])] if root_id in known else [(0, one) for one in reversed(below.pop(root_id, []))]
    while left:
        depth, one = left.pop()
        boxes.append(Box(depth, row(one), one.uuid in critical))
        left += [(depth + 1, child) for child in reversed(below.pop(one.uuid, []))]
    return boxes


def _path(known: Mapping[str, Timeline], root_id: str) -> frozenset[str]:
    """Return the ids from the task that ended last, the deepest of several, up to the root."""
    ended = [(one.finished, _up(known, one, root_id)) for one in known.values() if one.finished is not None]
    _, path = max(ended, key=lambda one: (one[0], len(one[1]), one[1]), default=(0.0, ()))
    return frozenset(path)


def _up(known: Mapping[str, Timeline], one: Timeline, root_id: str) -> tuple[str, ...]:
    """Return the ids of *one* and of the tasks above it; a cycle of forged parents is followed once."""
    path: dict[str, None] = {}
    above: Timeline | None = one
    while above is not None and above.uuid not in path:
        path[above.uuid] = None
        above = known.get(str(above.fields["parent_id"] or "")) if above.uuid != root_id else None
    return tuple(path)
