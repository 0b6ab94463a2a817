"""The tables of the throughput of a stage, for the screens that show them."""

from __future__ import annotations

from sedano.model.messages.timestamps import shown
from sedano.views.panels import Cell, Panel, dollars, moment, span
from sedano.views.throughput import TaskRate, ThroughputView


def sentence(view: ThroughputView) -> str:
    """Return the window in one sentence."""
    ended, lost = sum(one.ended for one in view.tasks), sum(one.failed for one in view.tasks)
    spent = f"; {dollars(sum(view.spent.values())).text} by list prices" if view.spent else ""
    return f"{ended:,} runs ended from {shown(view.since)} to {shown(view.until)}, {lost:,} failed{spent}."


def of_tasks(view: ThroughputView) -> Panel:
    """Return the table of the tasks."""
    columns = ("task", "queue", "runs", "a minute", "failed", "failing", "retried", "median", "95 %", "waited 95 %", "ran", "cost")
    minutes = (view.until - view.since) / 60
    return Panel("Tasks, the most runs first", columns, tuple(_row(one, minutes) for one in view.tasks), "No run ended in this window.")


def of_slots(view: ThroughputView) -> Panel:
    """Return the table of the parts of the window."""
    rows = tuple(
        (moment(one.at), Cell(f"{one.ended:,}", "number"), Cell(f"{one.a_minute:,.1f}", "number"),
         *_failed(one.failed, one.failed / max(one.ended, 1)))
        for one in view.slots if one.ended
    )  # fmt: skip
    return Panel("By time", ("from", "runs", "a minute", "failed", "failing"), rows, "No run ended in this window.")


def _row(one: TaskRate, minutes: float) -> tuple[Cell, ...]:
    return (
        Cell(one.task, "search", f"name:{one.task}"), Cell(one.queue), Cell(f"{one.ended:,}", "number"),
        Cell(f"{one.ended / minutes:,.1f}", "number"), *_failed(one.failed, one.failing), Cell(f"{one.retried:,}", "number"),
        span(one.median), span(one.slow), span(one.waited), span(one.ran),
        Cell("-", "number") if one.nanodollars is None else dollars(one.nanodollars),
    )  # fmt: skip


def _failed(number: int, share: float) -> tuple[Cell, Cell]:
    return Cell(f"{number:,}", "number"), Cell(f"{share:.1%}", "bad") if number else Cell("")
