"""The tables of queues and of their tenants, for the screens that show them."""

from __future__ import annotations

from collections.abc import Sequence

from sedano.model.history.tenant_loads import TenantLoad
from sedano.model.pauses import PauseCause
from sedano.model.queues import OLD_MESSAGE_S
from sedano.views.panels import Cell, Panel, span
from sedano.views.queues import QueueRow


def of_queues(rows: Sequence[QueueRow]) -> Panel:
    """Return the table of the command queues."""
    cells = tuple(
        (
            Cell(one.queue, "search", f"queue:{one.queue}"), Cell(str(one.wait), "number"), Cell(str(one.run), "number"), _age(one),
            Cell("-" if one.invocations is None else str(one.invocations), "number"),
            Cell(f"paused {PauseCause(one.by, one.reason).sentence}".strip(), "bad") if one.paused else Cell(""),
        )
        for one in rows
    )  # fmt: skip
    return Panel("Queues", ("queue", "wait", "run", "oldest", "limit", "paused"), cells, "This deployment does not report what waits.")


def _age(one: QueueRow) -> Cell:
    if one.age is None:
        return Cell("unknown", "number")
    old = one.age >= OLD_MESSAGE_S
    return Cell(f"{one.age:,.0f} s", "bad" if old else "number") if one.wait else Cell("-", "number")


def of_tenants(loads: Sequence[TenantLoad]) -> Panel:
    """Return the table of the tenants of the queues."""
    cells = tuple(
        (
            Cell(one.queue), _tenant(one), Cell(f"≈ {one.tasks}", "number"), Cell(f"≈ {one.share:.0%}", "number"), span(one.ran),
            span(one.waited), Cell("noisy", "bad") if one.noisy else Cell(""),
        )
        for one in loads
    )  # fmt: skip
    columns, none = ("queue", "tenant", "tasks", "share of the time", "ran", "median wait", "noisy"), "No task of the last hour is known."
    return Panel("Tenants of the last hour", columns, cells, none)


def _tenant(one: TenantLoad) -> Cell:
    return Cell(one.tenant, "search", f"tenant:{one.tenant} queue:{one.queue}") if one.tenant else Cell("(none)")
