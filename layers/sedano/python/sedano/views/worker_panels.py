"""The panels of workers and of the hosts that serve each queue."""

from __future__ import annotations

from collections.abc import Mapping

from sedano.model.cluster.members import LOST
from sedano.model.cluster.worker_report import DEGRADED
from sedano.views.panels import Cell, Panel, moment
from sedano.views.workers import WorkerRow, WorkersView

_COLUMNS = (
    "worker", "state", "seen", "host", "queues", "condition", "lanes", "prefetch", "beat", "code", "library", "config", "hindrance",
    "holds",
)  # fmt: skip


def of_workers(view: WorkersView) -> tuple[Panel, Panel]:
    """Return the panels of *view*."""
    served = tuple(
        (Cell(one.queue), Cell(served_by(one.served_by)), Cell("" if one.wished is None else str(one.wished), "number"))
        for one in view.queues
    )
    return (
        Panel("Workers", _COLUMNS, tuple(map(_row, view.rows)), "No worker was seen in three days."),
        Panel("Queues", ("queue", "served by", "scaled to"), served, "The app has no queues."),
    )


def served_by(hosts: Mapping[str, int]) -> str:
    """Return which kinds of *hosts* serve a queue, and how many workers of each, in words."""
    return ", ".join(f"{number} {kind}" for kind, number in hosts.items()) or "none seen"


def _row(one: WorkerRow) -> tuple[Cell, ...]:
    report = one.report
    return (
        Cell(one.name), Cell(one.state, "bad" if one.state == LOST else ""), moment(one.seen), Cell(report.host),
        Cell(" ".join(report.queues)), Cell(report.condition, "bad" if report.condition == DEGRADED else ""),
        Cell(str(report.lanes), "number"), Cell(str(report.prefetch), "number"), Cell(f"{report.beat:g} s" if report.beat else ""),
        Cell(report.code), Cell(report.library), Cell(report.config), Cell("; ".join(one.hindrances), "bad"), Cell(" ".join(one.holds)),
    )  # fmt: skip
