"""A trace as a table: each span in a line, with its bar on an axis that all lines share. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sedano.model.history.spans import TaskSpan
from sedano.views.panels import Cell, Screen, ScreenQuery
from sedano.views.trace import TraceView, axis
from sedano.web.markup import NOTHING, Markup, el, join
from sedano.web.tables import badge, content, scrolling, section, style

MOST_LINES = 300
"""The most spans that are drawn; the command and the JSON have all."""
WIDE, HIGH, LEAST = 1_000, 12, 8
STEP, DEEPEST = 14, 20
"""The indentation of a line per level in pixels, and the depth from which on it does not grow."""
_THIN = frozenset({"task", "attempt"})


def spans(asked: ScreenQuery, screen: Screen, view: TraceView) -> Markup:
    """Return the table of a trace."""
    (table,) = screen.tables
    if not view.spans:
        return section(table.title, el("p", table.empty, class_="none"))
    place = axis(view.spans)
    names = (table.columns[0], "time", *table.columns[1:])
    head = join(el("th", name, scope="col", class_="n" if name in ("begin", "took") else None) for name in names)
    lines = zip(view.spans[:MOST_LINES], table.rows[:MOST_LINES], strict=True)
    drawn = el("table", el("thead", el("tr", head)), el("tbody", *(_line(one, cells, place, asked) for one, cells in lines)))
    more = f"The first {MOST_LINES} of {len(view.spans)} spans are drawn; the command below prints all."
    left = el("p", more, class_="note") if len(view.spans) > MOST_LINES else NOTHING
    return join((left, section("Spans; times in which no body ran are drawn shorter", scrolling("Spans, table", drawn))))


def _line(one: TaskSpan, cells: Sequence[Cell], place: Callable[[float], float], asked: ScreenQuery) -> Markup:
    _, state, begin, took, worker, last = cells
    moved = el("svg", width=STEP * min(one.depth, DEEPEST), height=1, aria_hidden="true")
    label = el("b", one.label) if one.kind == "task" else one.label
    return el(
        "tr", el("td", moved, label), el("td", _bar(one, place)), el("td", badge(state.text) if state.text else NOTHING),
        el("td", begin.text, class_="n", data_l="begin"), el("td", took.text, class_="n", data_l="took"), el("td", worker.text),
        el("td", content(last, asked), class_="bad" if last.kind == "bad" else None),
    )  # fmt: skip


def _bar(one: TaskSpan, place: Callable[[float], float]) -> Markup:
    """Return the bar of a span; one without an end, or whose ends contradict each other, is a point."""
    if one.begin is None:
        return NOTHING
    first = place(one.begin) * WIDE
    wide = 0.0 if one.took is None or one.end is None else place(one.end) * WIDE - first
    kind = style(one.state) if one.state else "running" if one.kind == "body" else "wait"
    top, high = (4, 4) if one.kind in _THIN else (1, 10)
    rect = el("rect", x=f"{first:.1f}", y=top, width=f"{max(wide, LEAST):.1f}", height=high, class_=kind or "s0")
    return el("svg", rect, viewBox=f"0 0 {WIDE + LEAST} {HIGH}", preserveAspectRatio="none", class_="span", aria_hidden="true")
