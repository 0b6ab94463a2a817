"""A screen as lines of a terminal: aligned columns, the selected row marked, no line longer than the terminal is wide.

Every text passes `sedano.views.terminal_text.line` before it is measured or drawn, so no name, error or result moves the cursor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sedano.views.panels import Cell, Panel, Screen
from sedano.views.reader import About
from sedano.views.terminal_text import columns, line

WIDEST = 48
"""The most columns of one cell, unless it is the last of its row."""
BOLD, INVERSE, RED, DIM, END = "\x1b[1m", "\x1b[7m", "\x1b[31m", "\x1b[2m", "\x1b[0m"


class TextRow(NamedTuple):
    """One line: its *text*, its *style*, and the cell that it links to (None: no link)."""

    text: str
    style: str = ""
    target: Cell | None = None


class Size(NamedTuple):
    """The *width* and *height* of a terminal, in characters."""

    width: int
    height: int


def rows(screen: Screen) -> list[TextRow]:
    """Return everything on *screen* as lines; rows of tables link to the first task, canvas or search among their cells."""
    found = [TextRow(line(note)) for note in screen.notes]
    for table in screen.tables:
        found += [*([TextRow("")] if found else []), TextRow(line(table.title), BOLD), *_table(table)]
    return found


def targets(some: Sequence[TextRow]) -> list[int]:
    """Return the numbers of the lines that have a link."""
    return [number for number, one in enumerate(some) if one.target is not None]


def price(about: About) -> str:
    """Return the certainty, the price and the reads of a view, in one line."""
    return f"{about.certainty}; {cost(about)}"


def cost(about: About) -> str:
    """Return the price of a view and its reads."""
    calls = ", ".join(f"{number} {name}" for name, number in about.reads.calls.items()) or "nothing"
    return f"${about.reads.dollars_a_million:.2f} a million views on AWS; read {calls}"


def frame(some: Sequence[TextRow], size: Size, selected: int, head: str, foot: str, *, colour: bool) -> str:
    """Return the text that draws the lines around the line *selected*, below *head* and above *foot*, on the whole terminal."""
    room = max(1, size.height - 2)
    top = min(max(0, selected - room // 2), max(0, len(some) - room))
    drawn = [_styled(fitted(head, size.width), INVERSE, colour=True)]
    for number, one in enumerate(some[top : top + room], top):
        style = INVERSE if number == selected and one.target is not None else one.style
        drawn.append(_styled(fitted(one.text, size.width), style, colour=colour or style == INVERSE))
    drawn += [""] * (room + 1 - len(drawn))
    drawn.append(_styled(fitted(foot, size.width), DIM, colour=colour))
    return "\x1b[H" + "\x1b[K\r\n".join(drawn[: size.height]) + "\x1b[K"


def fitted(text: str, width: int) -> str:
    """Return *text* in at most *width* columns; the last one is an ellipsis if text was cut."""
    text = line(text)
    if columns(text) <= width:
        return text
    taken, room = "", width - 1
    for one in text:
        room -= columns(one)
        if room < 0:
            break
        taken += one
    return taken + "…" if width > 0 else ""


def _table(table: Panel) -> list[TextRow]:
    if not table.rows:
        return [TextRow(line(table.empty), DIM)] if table.empty else []
    texts = [[fitted(cell.text, WIDEST) for cell in row[:-1]] + [line(row[-1].text)] for row in table.rows]
    head = [name.upper() for name in table.columns]
    widths = [max(columns(row[place]) for row in (head, *texts)) for place in range(len(head) - 1)]
    drawn = [TextRow(_joined(head, widths), DIM)]
    for cells, row in zip(table.rows, texts, strict=True):
        target = next((cell for cell in cells if cell.link), None)
        drawn.append(TextRow(_joined(row, widths), RED if any(cell.kind == "bad" for cell in cells) else "", target))
    return drawn


def _joined(texts: Sequence[str], widths: Sequence[int]) -> str:
    padded = [text + " " * (width - columns(text)) for text, width in zip(texts, widths, strict=False)]
    return "  ".join([*padded, texts[-1]]).rstrip()


def _styled(text: str, style: str, *, colour: bool) -> str:
    return f"{style}{text}{END}" if style and colour else text
