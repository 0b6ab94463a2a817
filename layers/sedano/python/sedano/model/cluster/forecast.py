"""The next occurrences of periodic tasks, and the limit that they need beforehand. Pure.

The autoscaler follows messages that wait, and it may change a limit once in a cool-down. Periodic tasks are known beforehand: the moments
of their schedules are looked at as far ahead as a change now would rest, and two rounds more, so a round that may change the limit is
before them. The largest number that is due within one round counts, since that many may wait at once.

    burst  = the most occurrences of a queue within ROUND_S seconds
    needed = invocations that wait, run, and will be needed for the burst
    limit  = at least needed, within the budget, whatever the strategy says; it changes only when it does not rest
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice

from sedano.model.budgets import Budget, Level, Load, pause, rests
from sedano.model.schedules.agenda import Agenda, Periodic
from sedano.model.schedules.schedule import occurrence
from sedano.model.schedules.timetable import between

ROUND_S = 60.0
"""The controller looks by the minute."""
MOST_MOMENTS = 1_000
"""So many moments of one schedule are looked at: more than one a second for longer than any cool-down adds nothing to a burst."""


def horizon(budget: Budget, level: Level) -> float:
    """Return for how many seconds ahead moments are looked at: as long as a change of *level* now would rest, and two rounds."""
    return pause(budget, level) + 2 * ROUND_S


def bursts(agendas: Iterable[Agenda], ahead: Mapping[str, float], now: float) -> dict[str, int]:
    """Return the most occurrences within a round for each queue of *ahead*, which says how many seconds after *now* are looked at.

    A paused schedule brings none.
    """
    moments: dict[str, list[int]] = {queue: [] for queue in ahead}
    for agenda in agendas:
        for one in agenda.periodics.values():
            if one.call.queue in ahead and not one.schedule.paused:
                moments[one.call.queue].extend(_moments(one, now, now + ahead[one.call.queue]))
    return {queue: _most_within(sorted(found), ROUND_S) for queue, found in moments.items()}


def _moments(periodic: Periodic, after: float, until: float) -> Iterable[int]:
    """Return when the occurrences later than *after* and not later than *until* may run, each put off by its jitter."""
    found = islice(between(periodic.schedule.timetable, after - periodic.schedule.jitter, until), MOST_MOMENTS)
    return [runs_at for moment in found if after < (runs_at := occurrence(periodic.schedule, moment).runs_at) <= until]


def _most_within(moments: list[int], span: float) -> int:
    """Return the largest number of sorted *moments* that lie less than *span* seconds apart."""
    first, most = 0, 0
    for last, moment in enumerate(moments):
        while moment - moments[first] >= span:
            first += 1
        most = max(most, last - first + 1)
    return most


def foreseen(budget: Budget, before: Level, after: Level, load: Load, burst: int, now: float) -> Level:
    """Return the level *after* a look, raised to what *load* and a *burst* need, both in invocations; *before* is the one that was seen."""
    needed = min(load.waiting + load.running + burst, budget.most)
    if not burst or after.limit >= needed or rests(before, now):
        return after
    return Level(needed, after.increases, before.changes + 1, now, now + pause(budget, before))
