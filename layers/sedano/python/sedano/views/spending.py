"""The spending limits of an app: the limit of a UTC day, the amount of the current day, and whether tasks are paused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sedano.engine.spending import AHEAD_MINUTES, add
from sedano.model.history.rollups import MINUTE_S, Rollup, read
from sedano.model.spending import SpendingLimit, day_of, dollars, pauses_of
from sedano.ports.absent import has
from sedano.views.panels import Cell, Panel
from sedano.views.reader import Reader


class SpendingRow(NamedTuple):
    """The limit of one *tenant* (empty: the whole app) and the amount *spent* in the current UTC day, in nanodollars.

    *spent*: None if the stage has no roll-ups. *percent*: of the limit, rounded down. *paused*: the limit has paused its tasks.
    """

    tenant: str
    limit: int
    spent: int | None
    percent: int | None
    paused: bool


def spending(reader: Reader) -> tuple[SpendingRow, ...]:
    """Return the spending limits of the app, the one of the whole app first; an app without limits makes no call."""
    limits = [SpendingLimit(tenant, nanos) for tenant, nanos in sorted(reader.registry.spending.items())]
    if not limits:
        return ()
    ports, now = reader.ports, reader.now
    found = ports.rollups.read(day_of(now) // MINUTE_S, int(now) // MINUTE_S + AHEAD_MINUTES) if has(ports.rollups) else None
    spent = None if found is None else _spent(found)
    paused = ports.control.read().paused if has(ports.control) else frozenset[str]()
    rows = []
    for limit in limits:
        nanos = None if spent is None else spent.get(limit.tenant, 0)
        is_paused = any(one.text in paused for one in pauses_of(limit, tuple(reader.queues), now))
        percent = None if nanos is None else nanos * 100 // limit.nanodollars
        rows.append(SpendingRow(limit.tenant, limit.nanodollars, nanos, percent, is_paused))
    return tuple(rows)


def panels(rows: Sequence[SpendingRow]) -> tuple[Panel, ...]:
    """Return the panel of the spending limits *rows*; no panel if there is no limit."""
    columns = ("tenant", "limit", "spent", "of the limit", "state")
    return (Panel("Spending limits of this UTC day", columns, tuple(map(_cells, rows)), ""),) if rows else ()


def _cells(one: SpendingRow) -> tuple[Cell, ...]:
    spent, percent = ("-", "-") if one.spent is None else (dollars(one.spent), f"{one.percent} %")
    whose = Cell(one.tenant or "(the whole app)")
    state = Cell("paused", "bad") if one.paused else Cell("")
    return whose, Cell(dollars(one.limit), "number"), Cell(spent, "number"), Cell(percent, "number"), state


def _spent(found: list[Rollup]) -> dict[str, int]:
    spent: dict[str, int] = {}
    add(spent, (sums for one in found if (sums := read(one.text)) is not None))
    return spent
