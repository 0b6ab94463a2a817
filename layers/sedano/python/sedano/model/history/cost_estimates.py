"""The estimated cost of a canvas before it is published, from the roll-ups of the last day. Pure.

The cost of the workers in each object of the history is divided among the tasks in it by their run time, so the cost of one call of a task
is known, including its retries. A task that did not run in that time is estimated with the median of the known tasks of the canvas, or of
all tasks if the canvas has no known task.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from statistics import median
from typing import NamedTuple

from sedano.errors import SpendingExceeded
from sedano.model import states
from sedano.model.history.rollups import OTHERS, RunSums, Sums
from sedano.model.spending import dollars, nanodollars

WORKER = "worker"


class CostEstimate(NamedTuple):
    """The estimated cost of a canvas: its number of *tasks*, and their *nanodollars*.

    *unknown*: the names of the tasks that did not run in the last day, in order; their cost is a guess. *nanodollars* is None if no task of
    the app ran in that time.
    """

    tasks: int
    nanodollars: int | None
    unknown: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the estimate as a sentence."""
        guessed = f"; a guess for {', '.join(self.unknown)}, without a run in the last day" if self.unknown else ""
        return f"{self.tasks} tasks cost about {'?' if self.nanodollars is None else dollars(self.nanodollars)}{guessed}"


def estimate(calls: Mapping[str, int], objects: Iterable[Sums]) -> CostEstimate:
    """Return the estimate of so many *calls* of each task by name, from the sums of *objects* of the history."""
    known = costs_of_calls(objects)
    unknown = tuple(sorted(name for name in calls if name not in known))
    own = [cost for name, cost in known.items() if name in calls] or [*known.values()]
    if not own:
        return CostEstimate(sum(calls.values()), None if calls else 0, unknown)
    other = median(own)
    return CostEstimate(sum(calls.values()), round(sum(number * known.get(name, other) for name, number in calls.items())), unknown)


def costs_of_calls(objects: Iterable[Sums]) -> dict[str, float]:
    """Return the nanodollars of one call of each task, by name, from the sums of *objects*."""
    cost, calls = defaultdict[str, float](float), defaultdict[str, int](int)
    for sums in objects:
        spent = sum(nanos for (function, _), nanos in sums.spent.items() if function == WORKER)
        whole, number = sum(one.ran for one in sums.runs.values()), sum(one.number for one in sums.runs.values())
        for place, one in sums.runs.items():
            if number and spent:
                cost[place.task] += spent * (one.ran / whole if whole else one.number / number)
                calls[place.task] += _ended(one)
    return {name: cost[name] / calls[name] for name in cost if calls[name] and name != OTHERS}


def required(found: CostEstimate, amount: str) -> None:
    """Raise if the estimate is above *amount*, such as ``0.50 USD``, or if it is not known.

    Raises:
        OptionError: *amount* is not an amount in US dollars.
        SpendingExceeded: the estimate is higher, or no task ran in the last day.
    """
    most = nanodollars(amount, "within")
    if found.nanodollars is None:
        raise SpendingExceeded(f"within {amount}: the cost of {found.tasks} tasks is not known, because no task ran in the last day")
    if found.nanodollars > most:
        raise SpendingExceeded(f"within {amount}: {found}; publish less at once, or allow more")


def _ended(runs: RunSums) -> int:
    """Return how many calls of *runs* ended for good: a retry is a part of the cost of its call."""
    return runs.number - runs.ended.get(states.RETRY, 0)
