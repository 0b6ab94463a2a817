"""The cells and tables of a screen as HTML."""

from __future__ import annotations

from itertools import repeat

from sedano.model import states
from sedano.views.panels import Cell, Panel, ScreenQuery
from sedano.web.addresses import address
from sedano.web.markup import NOTHING, Markup, el, join

WRAPPED = 32
"""The last column of a table wraps if one of its texts has more characters than this."""
LONG, SHORT = 13, 8
"""The characters from which on an id is shortened, and the number of its first characters that are shown; its link has all."""
OBVIOUS = frozenset({"name", "task", "type", "at"})
"""The columns whose cells need no label where a narrow window shows a row as lines."""
_STYLES = {str(state): row.style for state, row in states.ROWS.items()} | {states.STARTED: "running"}


def style(state: str) -> str:
    """Return the class of a state: ``done``, ``failed``, ``running`` or none."""
    return _STYLES.get(state, "")


def badge(state: str) -> Markup:
    """Return a state as a word with a sign and a colour, so that it can be read without either."""
    return el("span", state, class_=_look(state))


def _look(state: str) -> str:
    return f"st {style(state)}".strip()


def link(cell: Cell, asked: ScreenQuery, text: object = None) -> Markup:
    """Return a link to the page that *cell* links to, with the same number of days as *asked*."""
    name, query, identity = ("tasks", cell.link, "") if cell.kind == "search" else (cell.kind, "", cell.link)
    there = ScreenQuery(name, id=identity, query=query, days=asked.days, redact=asked.redact)
    return el("a", cell.text if text is None else text, href=address(there))


def short(identity: str) -> Markup:
    """Return an id shortened to its first characters."""
    return el("code", f"{identity[:SHORT]}…" if len(identity) > LONG else identity)


def content(cell: Cell, asked: ScreenQuery) -> object:
    """Return the content of *cell*."""
    if cell.kind in ("task", "canvas"):
        return link(cell, asked, short(cell.text))
    if cell.kind in ("trace", "search"):
        return link(cell, asked)
    return el("time", cell.text) if cell.kind == "moment" else cell.text


def panel(table: Panel, asked: ScreenQuery) -> Markup:
    """Return a titled table, or the sentence that replaces it if it has no rows."""
    if not table.rows:
        return section(table.title, el("p", table.empty, class_="none")) if table.empty else NOTHING
    numeric = [all(row[place].kind == "number" for row in table.rows) for place in range(len(table.columns))]
    head = join(el("th", name, scope="col", class_="n" if right else None) for name, right in zip(table.columns, numeric, strict=True))
    labels = [None if name in OBVIOUS or (at == 0 and not numeric[0]) else name for at, name in enumerate(table.columns)]
    rows = join(el("tr", *map(_cell, row, labels, repeat(asked))) for row in table.rows)
    wraps = any(len(row[-1].text) > WRAPPED for row in table.rows)
    drawn = el("table", el("thead", el("tr", head)), el("tbody", rows), class_="wraps" if wraps else None)
    return section(table.title, scrolling(f"{table.title}, table", drawn))


def scrolling(name: str, child: Markup) -> Markup:
    """Return a part that may be wider than the page and scrolls; a keyboard can focus it, and *name* is its label."""
    return el("div", child, class_="scroll", tabindex=0, role="region", aria_label=name)


def section(title: str, *children: object) -> Markup:
    """Return a part of a page with its title."""
    return el("section", el("h2", title), *children)


def _cell(cell: Cell, label: str | None, asked: ScreenQuery) -> Markup:
    """Return a cell; *label*: the name of its column, for windows that are too narrow for columns."""
    if cell.kind == "state":
        return el("td", cell.text, class_=_look(cell.text))
    if not cell.text:
        return _EMPTY
    return el("td", content(cell, asked), class_={"number": "n", "bad": "bad"}.get(cell.kind), data_l=label)


_EMPTY = el("td")
