"""The tables of locks, permits, rates and elections, for the screens that show them."""

from __future__ import annotations

from collections.abc import Sequence

from sedano.views.locks import ElectionRow, LockRow, LocksView, PermitRow, RateRow
from sedano.views.panels import Cell, Panel, moment

NO_LIST = "the store has no list of all locks."
NO_ELECTIONS = "Search for election/ID: the store has no list of all elections."


def of_locks(view: LocksView) -> tuple[Panel, ...]:
    """Return the tables of the locks, the permits, the rates and the elections of *view*."""
    return (_locks(view.rows), _permits(view.permits), _rates(view.rates), _elections(view.elections))


def _locks(rows: Sequence[LockRow]) -> Panel:
    cells = tuple(
        (
            Cell(one.lock), Cell("held" if one.held else "free"), Cell(one.owner), Cell(str(one.token), "number"), moment(one.expires),
            Cell(str(one.waiting), "number"), Cell(one.next),
        )
        for one in rows
    )  # fmt: skip
    columns = ("lock", "state", "owner", "token", "until", "wait", "next")
    return Panel("Locks", columns, cells, f"Search for a lock's name: {NO_LIST}")


def _permits(rows: Sequence[PermitRow]) -> Panel:
    cells = tuple(
        (
            Cell(one.task), Cell(f"{one.number + 1} of {one.most}"), Cell(one.owner), Cell(str(one.token), "number"), moment(one.expires),
            Cell(str(one.waiting), "number"),
        )
        for one in rows
    )  # fmt: skip
    return Panel("Permits", ("task", "permit", "owner", "token", "until", "wait"), cells, "No permit is held.")


def _rates(rows: Sequence[RateRow]) -> Panel:
    cells = tuple((Cell(one.task), Cell(one.rate), Cell(str(one.reserved), "number"), moment(one.next)) for one in rows)
    return Panel("Rates", ("task", "rate", "reserved slots", "next slot"), cells, "No task has a rate that all workers share.")


def _elections(rows: Sequence[ElectionRow]) -> Panel:
    cells = tuple(
        (
            Cell(one.election), Cell(one.topic), Cell(one.state), Cell(", ".join(one.candidates)), Cell(", ".join(one.awaited)),
            Cell(one.winner), Cell(str(one.term), "number"),
        )
        for one in rows
    )  # fmt: skip
    columns = ("election", "topic", "state", "candidates, the first wins", "awaited", "winner", "term")
    return Panel("Elections", columns, cells, NO_ELECTIONS)
