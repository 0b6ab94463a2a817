"""Screens, their panels and their cells, as each renderer draws them, and functions that make common cells."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from sedano.model.messages.timestamps import shown
from sedano.views.plain import plain
from sedano.views.reader import About

Kind = Literal["", "number", "state", "moment", "task", "canvas", "trace", "search", "bad"]
"""The kinds of cells. ``task``, ``canvas`` and ``trace`` lead to the screen of an id; the link of ``search`` is a query for tasks."""


class Cell(NamedTuple):
    """One *text* of a table with its kind, and the id or the search that it links to."""

    text: str
    kind: Kind = ""
    link: str = ""


class Panel(NamedTuple):
    """Rows of cells below *columns*; *empty*: the sentence that replaces missing rows."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    empty: str


class Screen(NamedTuple):
    """A whole screen: its *title*, *notes* above the tables, the tables, the *command* that prints the same, and the *view* itself."""

    title: str
    notes: tuple[str, ...]
    tables: tuple[Panel, ...]
    command: str
    about: About
    view: object

    @property
    def json(self) -> Any:
        """The view as plain values, for JSON."""
        return plain(self.view)


class ScreenQuery(NamedTuple):
    """A request for a screen: the *name* of the screen, the *id* of a task, canvas or trace, a *query*, and how many *days* of history.

    *redact*: hide results and messages of errors. *failures_only*: of a canvas, show the boxes that failed.
    """

    name: str = "now"
    id: str = ""
    query: str = ""
    days: int = 2
    redact: bool = False
    failures_only: bool = False


def moment(at: float) -> Cell:
    """Return the cell of a moment (epoch s); 0: none."""
    return Cell(shown(at), "moment") if at else Cell("-")


def after(at: float | None, began: float) -> Cell:
    """Return the cell of a moment as seconds after *began*."""
    return Cell("-" if at is None else f"+{at - began:.3f} s", "number")


def none_since(day: str) -> str:
    """Return the sentence that replaces a canvas that the history does not have."""
    return f"The history since {day} has none of its tasks."


def span(seconds: float | None) -> Cell:
    """Return the cell of a duration in *seconds*; None: not known."""
    if seconds is None:
        return Cell("-", "number")
    return Cell(f"{seconds * 1_000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s", "number")


def unreadable(number: int) -> tuple[str, ...]:
    """Return the note about lines of events that cannot be read, if there are any."""
    return (f"{number} event lines cannot be read; `sedano history build` sets them aside with their reasons.",) if number else ()


def dollars(nanodollars: int) -> Cell:
    """Return the cell of a price."""
    return Cell(f"${nanodollars / 1e9:,.6f}", "number")
