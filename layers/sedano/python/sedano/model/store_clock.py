"""The time at the store, as an interval that certainly contains it.

The clocks of machines differ; all machines use the same store. Each of its responses has a date in whole seconds, and between the request
and the response, the store's clock showed a time within that second. From then on, only *elapsed* time is needed, and a machine has two
measures of it: the monotonic clock and the wall clock. They differ after a freeze or a step, so the lower bound advances with the smaller
and the upper bound with the greater of the two, each widened by the drift of a quartz (Marzullo and Owicki 1983; Spanner's TrueTime).

An interval wider than `WIDEST_MS` is *suspect*: decisions then use observation instead (`sedano.model.leases`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

DRIFT = 0.001
"""The largest drift of two clocks, as a part of the elapsed time: five times that of a bad quartz."""
WIDEST_MS = 5_000
FREEZE_MS = 1_000
"""Milliseconds. The two measures of elapsed time differ by more than this only after a freeze, a suspension or a step."""
_SECOND_MS = 1_000


class Moment(NamedTuple):
    """The readings of a machine's own two clocks, in ms: the wall clock (which may be set) and the monotonic one (which may stop during a
    suspension).
    """

    wall: float
    monotonic: float


def most(since: Moment, now: Moment) -> float:
    """Return the most time (ms) that may have passed, which a holder must assume."""
    return max(now.wall - since.wall, now.monotonic - since.monotonic, 0.0)


def least(since: Moment, now: Moment) -> float:
    """Return the least time (ms) that has certainly passed, which an observer may assume."""
    return max(min(now.wall - since.wall, now.monotonic - since.monotonic), 0.0)


def froze(since: Moment, now: Moment) -> bool:
    """Return whether this machine was frozen, or one of its clocks was set, between the two moments."""
    apart = abs((now.wall - since.wall) - (now.monotonic - since.monotonic))
    return apart > FREEZE_MS + DRIFT * most(since, now)


class Interval(NamedTuple):
    """The store's clock (epoch ms) is between *lo* and *hi*."""

    lo: int
    hi: int

    @property
    def suspect(self) -> bool:
        """Whether it is too wide for decisions."""
        return self.hi - self.lo > WIDEST_MS

    def corrected(self, shown: float) -> float:
        """Return the time (epoch s) to use if a machine's clock shows *shown*: *shown* itself, if it may be correct.

        For a wrong clock, return the time that was certainly reached; for a clock that is ahead of a suspect interval, for example after a
        freeze, the time that was certainly not passed.
        """
        if shown * 1000 > self.hi:
            return (self.hi if self.suspect else self.lo) / 1000
        return max(shown, self.lo / 1000)


class StoreClock(NamedTuple):
    """The knowledge of a process about the store's clock: the response that gives the lower bound, and the one that gives the upper bound.

    *floor* (ms) was certainly reached at *floor_at*; *ceiling* (ms) was certainly not passed at *ceiling_at*.
    """

    floor: float
    floor_at: Moment
    ceiling: float
    ceiling_at: Moment

    def at(self, now: Moment) -> Interval:
        """Return the interval that contains the store's time at *now*."""
        lo = self.floor + least(self.floor_at, now) * (1 - DRIFT)
        hi = self.ceiling + most(self.ceiling_at, now) * (1 + DRIFT)
        return Interval(math.floor(lo), math.ceil(hi))


def learned(known: StoreClock | None, date_ms: int, sent: Moment, received: Moment) -> StoreClock:
    """Return the knowledge after a response with *date_ms* (whole seconds) to a request that was sent at *sent*; *received* is the time of
    the response. If a response contradicts the interval (the clock was set, or this machine was frozen), it replaces the interval.
    """
    fresh = StoreClock(date_ms, received, date_ms + _SECOND_MS, sent)
    if known is None:
        return fresh
    old, new = known.at(received), fresh.at(received)
    if old.lo > new.hi or new.lo > old.hi:
        return fresh
    floor, floor_at = (known.floor, known.floor_at) if old.lo > new.lo else (fresh.floor, received)
    ceiling, ceiling_at = (known.ceiling, known.ceiling_at) if old.hi < new.hi else (fresh.ceiling, sent)
    return StoreClock(floor, floor_at, ceiling, ceiling_at)
