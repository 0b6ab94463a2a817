"""The time at the store, as an interval that certainly contains it.

Machines disagree about the time; the store is one for all. Each of its answers carries a date in whole seconds, and between sending the
request and receiving the answer its clock showed some moment of that second. From there on only *elapsed* time is needed, and a machine
has two gauges of it: the monotonic clock and the wall clock. After a freeze or a step they differ, so the lower end moves with the lesser
and the upper end with the greater of the two, each widened by the drift of a quartz (Marzullo and Owicki 1983; Spanner's TrueTime).

An interval wider than `WIDEST_MS` is *suspect*: nothing is decided by it but by watching (`sedano.model.leases`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

DRIFT = 0.001
"""How fast two clocks may drift apart, as a part of the time that passes: five times what a bad quartz does."""
WIDEST_MS = 5_000
FREEZE_MS = 1_000
"""The two gauges of elapsed time differ by more than this only after a freeze, a suspension or a step."""
_SECOND_MS = 1_000


class Moment(NamedTuple):
    """The readings of a machine's own two clocks, in ms: the wall clock (which may step) and the monotonic one (which may rest)."""

    wall: float
    monotonic: float


def most(since: Moment, now: Moment) -> float:
    """Return the most time (ms) that may have passed: what a holder must assume."""
    return max(now.wall - since.wall, now.monotonic - since.monotonic, 0.0)


def least(since: Moment, now: Moment) -> float:
    """Return the least time (ms) that has surely passed: what an observer may assume."""
    return max(min(now.wall - since.wall, now.monotonic - since.monotonic), 0.0)


def froze(since: Moment, now: Moment) -> bool:
    """Return whether this machine was frozen, or one of its clocks was set, between the two moments."""
    apart = abs((now.wall - since.wall) - (now.monotonic - since.monotonic))
    return apart > FREEZE_MS + DRIFT * most(since, now)


class Interval(NamedTuple):
    """The store's clock (epoch ms) lies between *lo* and *hi*."""

    lo: int
    hi: int

    @property
    def suspect(self) -> bool:
        """Whether it is too wide to decide by."""
        return self.hi - self.lo > WIDEST_MS

    def corrected(self, shown: float) -> float:
        """Return the time (epoch s) to judge by where a machine's clock shows *shown*: that, where it may be right.

        Of a clock that is wrong, the time that was surely reached; of one that is ahead of an interval too wide to decide by, as after a
        freeze, the time that was surely not passed.
        """
        if self.lo <= shown * 1000 <= self.hi:
            return shown
        return (self.hi if self.suspect and shown * 1000 > self.hi else self.lo) / 1000


class StoreClock(NamedTuple):
    """The best that a process knows of the store's clock: the answer that bounds it from below, and the one from above.

    *floor* ms was surely reached at *floor_at*; *ceiling* ms was surely not passed at *ceiling_at*.
    """

    floor: float
    floor_at: Moment
    ceiling: float
    ceiling_at: Moment

    def at(self, now: Moment) -> Interval:
        """Return the interval that contains the store's time *now*."""
        lo = self.floor + least(self.floor_at, now) * (1 - DRIFT)
        hi = self.ceiling + most(self.ceiling_at, now) * (1 + DRIFT)
        return Interval(math.floor(lo), math.ceil(hi))


def learned(known: StoreClock | None, date_ms: int, sent: Moment, received: Moment) -> StoreClock:
    """Return the interval after an answer with *date_ms* (whole seconds), asked for at *sent* and *received* then. An answer that
    contradicts the interval (the clock was set, or this machine thawed) replaces it.
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
