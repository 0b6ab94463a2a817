"""Prints the spans of a canvas as a tree with bars: the work of `sedano trace`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sedano.app import Sedano
from sedano.cli.exits import Exit
from sedano.cli.printer import say, table
from sedano.cli.tables import Instant, document
from sedano.model.history.spans import TaskSpan
from sedano.model.messages.timestamps import shown
from sedano.views.plain import plain
from sedano.views.terminal_screen import price
from sedano.views.trace import TraceView, axis, trace

WIDTH = 32
"""The columns of a bar."""
BARS = {"task": "═", "attempt": "─", "body": "█"}
"""The character of a bar by the kind of its span; a dotted bar is time spent waiting."""


def show(app: Sedano, task_id: str, days: int, as_json: bool) -> Exit:
    """Print the trace of the canvas of *task_id* from the history of so many *days*."""
    view = trace(app, task_id, days)
    if not view.spans:
        say(
            f"sedano trace: the history of {days} days (UTC), today included, has no task {task_id}; it is written up to 60 s after a task "
            f"ended. Read more days with --days, or ask the stores for this task: sedano explain {task_id}", err=True,
        )  # fmt: skip
        return Exit.NOT_FOUND
    if as_json:
        document("trace", map(_plain, view.spans), reads=plain(view.about.reads))
    else:
        _show(view)
    return Exit.DONE


def _plain(one: TaskSpan) -> dict[str, Any]:
    ends = {name: None if at is None else Instant(at) for name, at in (("begin", one.begin), ("end", one.end))}
    return {**one._asdict(), **ends, "took": one.took}


def _show(view: TraceView) -> None:
    began = min((one.begin for one in view.spans if one.begin is not None), default=0.0)
    place = axis(view.spans)
    rows = [
        (
            "  " * one.depth + one.label + (" ◂" if one.kind == "task" and one.task == view.id != view.root else ""), one.state or "-",
            "-" if one.begin is None else f"+{one.begin - began:.3f}", "-" if one.took is None else f"{one.took:.3f} s", _bar(one, place),
            one.worker or "-", one.task if one.kind == "task" else one.error or "-",
        )
        for one in view.spans
    ]  # fmt: skip
    table(("SPAN", "STATE", "BEGIN", "TOOK", "TIME", "WORKER", "ID OR ERROR"), rows)
    say(f"{view.tasks} tasks of the canvas {view.root} since {view.since}; it began {shown(began)}", err=True)
    if view.left_out:
        say(f"{view.left_out} spans are not shown; to list all tasks of the canvas: sedano list root:{view.root}", err=True)
    if view.unreadable:
        say(f"{view.unreadable} event lines cannot be read; `sedano history build` lists them with the reasons", err=True)
    say(f"sedano trace: {price(view.about)}", err=True)


def _bar(span: TaskSpan, place: Callable[[float], float]) -> str:
    """Return the bar of *span*; one without an end, or whose ends contradict each other, is a point."""
    if span.begin is None:
        return ""
    first = min(int(place(span.begin) * WIDTH), WIDTH - 1)
    last = first if span.took is None or span.end is None else max(first, round(place(span.end) * WIDTH) - 1)
    return " " * first + BARS.get(span.kind, "·") * (last - first + 1)
