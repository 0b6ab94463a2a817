"""The cost of tasks in the event history of some days: by task, queue and tenant, by canvas, what full batches would save, and limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from sedano.app import Sedano
from sedano.model.history.task_costs import CanvasCost, Costs, TaskCost, WorkerCost, task_costs
from sedano.views.cluster import first_day
from sedano.views.event_lines import event_lines
from sedano.views.reader import About, Reader
from sedano.views.spending import SpendingRow, spending

MOST = 100
"""The most rows of tasks, and of canvases, in a view: the most expensive ones."""


class CostsView(NamedTuple):
    """The cost of *tasks* and of *canvases*, the most expensive first, and of the *workers*, since the day *since*.

    *nanodollars* is the sum of all rows, also of those that are left out. *limits*: the spending limits of the current UTC day.
    """

    tasks: tuple[TaskCost, ...]
    canvases: tuple[CanvasCost, ...]
    workers: WorkerCost
    nanodollars: int
    since: str
    unreadable: int
    about: About
    limits: tuple[SpendingRow, ...] = ()


def costs(app: Sedano, days: int, reported: Callable[[Iterator[bytes]], Iterator[bytes]] = iter) -> CostsView:
    """Return the costs according to the history of the last *days*, today included; *reported* passes its objects on as they are read.

    Raises:
        OptionError: *days* is less than 1.
    """
    reader = Reader(app)
    since = first_day(reader.ports, days)
    events, unreadable = event_lines(reported(reader.ports.events.read(since)))
    found: Costs = task_costs(events)
    limits = spending(reader)
    tasks = tuple(one._replace(queue=one.queue.removeprefix("commands:")) for one in found.tasks[:MOST])
    return CostsView(
        tasks=tasks, canvases=found.canvases[:MOST], workers=found.workers,
        nanodollars=sum(one.nanodollars for one in found.tasks), since=since, unreadable=unreadable, about=reader.about(), limits=limits,
    )  # fmt: skip
