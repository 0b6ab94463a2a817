"""The body of each page, from the record of its view or from its screen. Pure.

Most pages are the tables of their screen. Pages for which tables are not enough are drawn from the record: now, one task, a canvas, a
trace.
"""

from __future__ import annotations

from collections.abc import Mapping

from sedano.model.ledger.tracebacks import Frame
from sedano.views.now import Need, NowView
from sedano.views.panels import Cell, Panel, Screen, ScreenQuery
from sedano.views.screens import NEW, TENANTS
from sedano.views.task import TaskView
from sedano.views.trace import TraceView
from sedano.web.addresses import address
from sedano.web.bars import span
from sedano.web.canvas_tree import canvas
from sedano.web.log_links import LogPlace, logs_of
from sedano.web.markup import NOTHING, Markup, el, join, outside
from sedano.web.tables import badge, content, link, panel, scrolling, section, style
from sedano.web.trace_table import spans

DAYS = (1, 2, 7, 14, 30, 44)
"""The numbers of days of history that a person can choose from."""
FILTERED: Mapping[str, tuple[str, str]] = {
    "tasks": ("Search tasks", "state:FAILURE name:shop.* error:ValueError tag:who=ana"), "cost": ("", ""),
    "failures": ("", ""), "changes": ("", ""), "queues": ("", ""), "throughput": ("", ""),
    "locks": ("Names of locks", "Names of locks"), "events": ("Types, ids or names of tasks", "task-failed shop.tasks.add"),
}  # fmt: skip
"""The pages with a search or filter form: the label of the search and an example; empty: only days."""
CHOICES: Mapping[str, Mapping[str, str]] = {
    "failures": {"": "all causes", NEW: "new since the last deployment"},
    "throughput": {"": "the last hour", "6h": "the last 6 hours", "24h": "the last 24 hours", "7d": "the last 7 days"},
    "queues": {"": "queues", TENANTS: "queues, and tenants of the last hour"},
}  # fmt: skip
"""The pages whose query is one of a few values, each with its label."""
_PAGES: Mapping[str, str] = {"circuit": "circuits", "schedule": "schedules", "worker": "workers", "paused": "queues"}
"""The page about a need of each kind."""


def body(asked: ScreenQuery, screen: Screen, logs: LogPlace | None = None) -> Markup:
    """Return the part of the page below its heading; *logs*: the place of the log lines of the stage."""
    view = screen.view
    if isinstance(view, NowView):
        return _now(asked, screen, view)
    if isinstance(view, TaskView):
        return _task(asked, screen, view, logs_of(view, logs) if logs is not None else "")
    if asked.name == "canvas":
        return join((canvas(asked, screen), *(panel(one, asked) for one in screen.tables if one.title == "Steps")))
    if isinstance(view, TraceView):
        return join((_notes(screen), spans(asked, screen, view)))
    head = _filter(asked) if asked.name in FILTERED else NOTHING
    return join((head, _notes(screen), *(panel(one, asked) for one in screen.tables)))


def _notes(screen: Screen) -> Markup:
    return join(el("p", note, class_="note") for note in screen.notes)


def _filter(asked: ScreenQuery) -> Markup:
    """Return the search or filter form of the page."""
    parts: list[Markup] = []
    label, hint = FILTERED[asked.name]
    if label:
        parts.append(el("input", name="q", type="search", value=asked.query, placeholder=hint, aria_label=label))
    if asked.name in CHOICES:
        offers = join(el("option", words, value=one, selected=one == asked.query) for one, words in CHOICES[asked.name].items())
        parts.append(el("select", offers, name="q", aria_label="Show"))
    if asked.name not in ("locks", "queues", "throughput"):
        known = sorted({*DAYS, asked.days})
        options = join(el("option", "today" if n == 1 else f"{n} days", value=n, selected=n == asked.days) for n in known)
        parts.append(el("select", options, name="days", aria_label="Days of history"))
    return el(
        "form", *parts, el("button", "Show"), action=f"/{asked.name}", class_="filter", role="search", aria_label=f"Filter {asked.name}"
    )


def _now(asked: ScreenQuery, screen: Screen, view: NowView) -> Markup:
    needs = el("ul", *(_need(one) for one in view.needs), class_="need") if view.needs else el("p", "Nothing needs you.", class_="none")
    states = sorted(view.by_state.items())
    tiles = [_tile(number, state, address(ScreenQuery("tasks", query=f"state:{state}", days=1)), style(state)) for state, number in states]
    wait = sum(one.wait for one in view.queues)
    words = "message waits" if wait == 1 else "messages wait"
    tiles += [_tile(wait, words, address(ScreenQuery("queues")))] if view.queues else []
    tiles += [_tile(number, f"workers {state}", address(ScreenQuery("workers"))) for state, number in sorted(view.workers.items())]
    drawn = (
        section("Needs you", needs), el("div", *tiles, class_="tiles"), _notes(screen),
        *(panel(one, asked) for one in screen.tables if one.title in ("Queues", "Latest")),
    )  # fmt: skip
    return join(drawn)


def _need(need: Need) -> Markup:
    if need.query:
        there = ScreenQuery("tasks", query=need.query, days=1)
    elif need.kind in _PAGES:
        there = ScreenQuery(_PAGES[need.kind])
    else:
        return el("li", el("b", need.kind), " ", need.sentence)
    return el("li", el("b", need.kind), " ", need.sentence, " ", el("a", "look", href=address(there), aria_label=f"look at {need.name}"))


def _tile(number: int, words: str, there: str, look: str = "") -> Markup:
    return el("a", el("b", f"{number:,}", class_=look or None), el("span", words), href=there, class_="tile")


def _task(asked: ScreenQuery, screen: Screen, view: TaskView, logs: str) -> Markup:
    tables = {one.title: one for one in screen.tables}
    lines = join(el("p", note) for note in screen.notes)
    why = el("div", el("p", badge(view.state), " ", view.name), lines, class_=f"why {style(view.state)}".strip())
    hide = el("a", "Show arguments, results and messages" if view.redacted else "Hide arguments, results and messages of errors",
        href=address(asked._replace(redact=not view.redacted)),
    )  # fmt: skip
    links = (" · ", outside("Log lines in CloudWatch", logs)) if logs else ()
    return join((
        why, el("p", hide, *links, class_="note"), _attempts(tables["Attempts"], view, asked), _traceback(view),
        _record(tables["Record"], asked), panel(tables["Published by it"], asked),
    ))  # fmt: skip


def _attempts(table: Panel, view: TaskView, asked: ScreenQuery) -> Markup:
    drawn = panel(table, asked)
    longest = max(((one.waited or 0.0) + (one.ran or 0.0) for one in view.attempts), default=0.0)
    items = [el("li", f"{one.number + 1} ", span(one.waited, one.ran, longest)) for one in view.attempts if longest > 0]
    return join((drawn, el("ul", *items, class_="legend"))) if items else drawn


def _traceback(view: TaskView) -> Markup:
    """Return the frames of the application, the innermost first, followed by all frames in Python's order."""
    if not view.frames:
        return NOTHING
    own = [one for one in reversed(view.frames) if one.own]
    first = scrolling("Frames of your code", el("ol", *map(_frame, own), class_="frames")) if own else NOTHING
    if len(own) == len(view.frames):
        return section("Traceback, the innermost frame first", first)
    every = scrolling("All frames", el("ol", *map(_frame, view.frames), class_="frames"))
    whole = el("details", el("summary", f"All {len(view.frames)} frames, the innermost last"), every, open=not own)
    return section("Traceback: your code, the innermost frame first", first, whole)


def _frame(one: Frame) -> Markup:
    place = f"{one.file}:{one.line} in {one.function}"
    return el("li", place, el("code", one.code), class_="own" if one.own else None)


def _record(table: Panel, asked: ScreenQuery) -> Markup:
    rows = join(one for name, cell in table.rows for one in (el("dt", name.text), el("dd", _fact(cell, asked))))
    return section("Record", el("dl", rows))


def _fact(cell: Cell, asked: ScreenQuery) -> object:
    if cell.kind in ("task", "canvas"):
        return link(cell, asked, el("code", cell.text))
    return badge(cell.text) if cell.kind == "state" else content(cell, asked)
