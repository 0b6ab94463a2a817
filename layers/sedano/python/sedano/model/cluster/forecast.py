"""The next occurrences of periodic tasks, and the limit that they need in advance. Pure.

The autoscaler follows the waiting messages, and it may change a limit only once per cool-down. Periodic tasks are known in advance: the
times of their schedules are read for the cool-down of a change made now, plus two rounds, so that a round that may change the limit
precedes them. The largest number that is due within one round counts, because that many may wait at the same time.

    burst  = the most occurrences for a queue within ROUND_S seconds
    needed = invocations that wait, run, and will be needed for the burst
    limit  = at least needed, within the budget, for any strategy; it changes only outside of a cool-down
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice

from sedano.model.budgets import Budget, Level, Load, pause, rests
from sedano.model.schedules.agenda import Agenda, Periodic
from sedano.model.schedules.schedule import occurrence
from sedano.model.schedules.timetable import between

ROUND_S = 60.0
"""The seconds between two rounds of the controller."""
MOST_MOMENTS = 1_000
"""The most times of one schedule that are read: this is more than one per second for longer than any cool-down."""


def horizon(budget: Budget, level: Level) -> float:
    """Return how many seconds ahead schedules are read: the cool-down of a change of *level* made now, plus two rounds."""
    return pause(budget, level) + 2 * ROUND_S


def bursts(agendas: Iterable[Agenda], ahead: Mapping[str, float], now: float) -> dict[str, int]:
    """Return the most occurrences within a round for each queue in *ahead*, which gives the seconds after *now* for which schedules are
    read.

    A paused schedule has no occurrences.
    """
    moments: dict[str, list[int]] = {queue: [] for queue in ahead}
    for agenda in agendas:
        for one in agenda.periodics.values():
            if one.call.queue in ahead and not one.schedule.paused:
                moments[one.call.queue].extend(_moments(one, now, now + ahead[one.call.queue]))
    return {queue: _most_within(sorted(found), ROUND_S) for queue, found in moments.items()}


def _moments(periodic: Periodic, after: float, until: float) -> Iterable[int]:
    """Return the times of the occurrences later than *after* and not later than *until*, each delayed by its jitter."""
    found = islice(between(periodic.schedule.timetable, after - periodic.schedule.jitter, until), MOST_MOMENTS)
    return [runs_at for moment in found if after < (runs_at := occurrence(periodic.schedule, moment).runs_at) <= until]


def _most_within(moments: list[int], span: float) -> int:
    """Return the largest number of sorted *moments* within less than *span* seconds."""
    first, most = 0, 0
    for last, moment in enumerate(moments):
        while moment - moments[first] >= span:
            first += 1
        most = max(most, last - first + 1)
    return most


def foreseen(budget: Budget, before: Level, after: Level, load: Load, burst: int, now: float) -> Level:
    """Return the level *after* the strategy's decision, raised to the need of *load* and a *burst*, both in invocations; *before* is the
    observed level.
    """
    needed = min(load.waiting + load.running + burst, budget.most)
    if not burst or after.limit >= needed or rests(before, now):
        return after
    return Level(needed, after.increases, before.changes + 1, now, now + pause(budget, before))
