"""A canvas as boxes within boxes: many siblings of one name are one box, with the number in each state. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sedano.views.canvas import FAILED, Box, CanvasView
from sedano.views.panels import Cell, Screen, ScreenQuery
from sedano.web.addresses import address
from sedano.web.bars import progress, span
from sedano.web.markup import NOTHING, Markup, el, join
from sedano.web.tables import badge, link, section, short

MOST_SIBLINGS = 12
"""The most tasks of one name below one parent that are shown one by one; more are in one box that opens."""
DEEPEST = 40
"""Boxes below this depth are drawn at this depth: browsers cannot lay out a thousand nested elements."""


class BoxBranch(NamedTuple):
    """A box and the boxes of the tasks that its task published."""

    box: Box
    below: list[BoxBranch]


def canvas(asked: ScreenQuery, screen: Screen) -> Markup:
    """Return the boxes of a canvas below its progress."""
    view = screen.view
    if not isinstance(view, CanvasView):
        return NOTHING
    failed = sum(number for state, number in view.progress.items() if state in FAILED)
    there = address(asked._replace(failures_only=not asked.failures_only))
    other = el("a", "All tasks" if asked.failures_only else "Failures only", href=there)
    notes = join(el("p", note, class_="note") for note in screen.notes[1:])
    if not view.boxes:
        unknown = f"The history since {view.since} has none of its tasks."
        drawn = el("p", "No task of it failed." if asked.failures_only and view.progress else unknown, class_="none")
    else:
        longest = max((box.task.waited or 0.0) + (box.task.ran or 0.0) for box in view.boxes)
        drawn = _tree(forest(view.boxes), asked, longest)
    traced = el("a", "Trace", href=address(ScreenQuery("trace", id=asked.id, days=asked.days, redact=asked.redact)))
    links = el("p", join((other, traced), " · ") if failed or asked.failures_only else traced, class_="note")
    return join((progress(view.progress), links, notes, section("Tasks", drawn)))


def forest(boxes: Sequence[Box]) -> list[BoxBranch]:
    """Return *boxes*, each before its children, as trees; if a parent is left out, its children are below its own parent."""
    roots: list[BoxBranch] = []
    path: list[tuple[int, BoxBranch]] = []
    for box in boxes:
        depth = min(box.depth, DEEPEST)
        while path and path[-1][0] >= depth:
            path.pop()
        node = BoxBranch(box, [])
        (path[-1][1].below if path else roots).append(node)
        path.append((depth, node))
    return roots


def _tree(nodes: Sequence[BoxBranch], asked: ScreenQuery, longest: float) -> Markup:
    return el("ul", *_items(nodes, asked, longest), class_="tree")


def _items(nodes: Sequence[BoxBranch], asked: ScreenQuery, longest: float) -> Iterator[Markup]:
    named: dict[str, list[BoxBranch]] = {}
    for one in nodes:
        named.setdefault(one.box.task.name, []).append(one)
    for name, some in named.items():
        if len(some) <= MOST_SIBLINGS:
            yield from (_item(one, asked, longest) for one in some)
            continue
        counts = sorted(Counter(one.box.task.state for one in some).items())
        states = join((join((f"{number} ", badge(state))) for state, number in counts), " ")
        inside = el("ul", *(_item(one, asked, longest) for one in some))
        yield el("li", el("details", el("summary", f"{len(some)} × {name} ", states), inside))


def _item(node: BoxBranch, asked: ScreenQuery, longest: float) -> Markup:
    task = node.box.task
    named = link(Cell(task.name, "task", task.id), asked, task.name)
    path = el("small", "on the path to the task that ended last") if node.box.critical else NOTHING
    error = el("span", task.error, class_="bad") if task.error else NOTHING
    drawn = el(
        "div", named, badge(task.state), short(task.id), span(task.waited, task.ran, longest), error, path,
        class_="box path" if node.box.critical else "box",
    )  # fmt: skip
    return el("li", drawn, el("ul", *_items(node.below, asked, longest)) if node.below else NOTHING)
