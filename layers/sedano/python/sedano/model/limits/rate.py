"""How often tasks may start: a line of tickets, each a slot in time. Pure.

The rule is GCRA (ITU-T I.371), the leaky bucket as one number: with an interval *T* between two starts and a *burst* of *B*, at most
``W/T + B`` starts fall into any stretch of *W*. Several paces hold at once. The addition here: a refused task gets a slot, and the slot is
its own from then on, so no task asks twice and waiting costs nothing.

A line is kept as numbers that mostly only grow, so a crowd can take tickets without getting into each other's way. While the line is
ahead of the clock a ticket is one addition (*join*), which never fails; after a long enough time without tickets it begins anew (*start*);
only in between, when some of a burst is left, is it a compare-and-swap (*restart*).

Why additions are enough. Let a line begin at *base* with no pace in the way, `next_i >= base` the earliest time of its next start by
pace *i* alone, tolerance `(B_i - 1) T_i`. Then ticket *m* has the slot ``max(base, max_i(next_i + m T_i - tolerance_i))``: as every pace
takes its start at its own rate, GCRA's own ``max(next, slot)`` never raises a number above that maximum (`tests/unit/test_rates`
compares them). Times are whole microseconds since the epoch.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import ceil, inf, nan
from typing import NamedTuple

from sedano.errors import OptionError

SECOND = 1_000_000
UNITS = {"s": SECOND, "m": 60 * SECOND, "h": 3_600 * SECOND, "d": 86_400 * SECOND}
MOST_PACES = 3
"""How many windows a rate may have: each is one number of the line."""
MOST_BURST = 1_000_000
_RATE = re.compile(r"([0-9]+(?:\.[0-9]+)?)/([smhd])")
RateText = str | int | float


class Pace(NamedTuple):
    """One start in *every* microseconds, and up to *burst* of them at once."""

    every: int
    burst: int = 1

    @property
    def tolerance(self) -> int:
        """How far a start may precede its turn."""
        return (self.burst - 1) * self.every


Paces = tuple[Pace, ...]


class Line(NamedTuple):
    """The line of one rate: it began at *base*, *taken* tickets ago; *turns* holds for each pace when its next start has its turn.

    *nonce* marks who began it.
    """

    base: int
    taken: int
    turns: tuple[int, ...]
    nonce: str = ""


class LineChanged(NamedTuple):
    """The answer to a write: *done*, or refused, and the line as it is now (None: no line exists)."""

    done: bool
    line: Line | None


def paces(rate: RateText | Sequence[RateText], burst: int | Sequence[int] = 1) -> Paces:
    """Return *rate* as paces: ``"200/m"``, a number (a second), or several windows; *burst* for all of them, or one for each.

    Raises:
        OptionError: it is not a rate above 0, or a window can never count because another one is always slower.
    """
    rates = [rate] if isinstance(rate, str | int | float) else list(rate)
    bursts = [burst] * len(rates) if isinstance(burst, int) else list(burst)
    if not 1 <= len(rates) <= MOST_PACES:
        raise OptionError(f"rate: {len(rates)} windows; give 1 to {MOST_PACES}")
    if len(bursts) != len(rates):
        raise OptionError(f"burst: {len(bursts)} numbers for {len(rates)} windows; give one number, or one for each window")
    found = tuple(Pace(_every(one), _burst(size)) for one, size in zip(rates, bursts, strict=True))
    for one, pace in zip(rates, found, strict=True):
        if any(other != pace and other.every >= pace.every and other.burst <= pace.burst for other in found):
            raise OptionError(f"rate: {one!r} never counts beside the others; give the longer window a burst: burst=(1, 50)")
    return found


def _read(rate: object) -> tuple[float, int]:
    """Return how many a unit, and the unit in microseconds; NaN when it is not a rate."""
    if isinstance(rate, str):
        match = _RATE.fullmatch(rate)
        return (float(match[1]), UNITS[match[2]]) if match is not None else (nan, SECOND)
    return (float(rate) if isinstance(rate, int | float) and not isinstance(rate, bool) else nan), SECOND


def _every(rate: RateText) -> int:
    number, unit = _read(rate)
    if not 0 <= number < inf:
        raise OptionError(f"rate: {rate!r} is not a rate; write '200/m', '10/s', '5/h', '3/d', or a number a second")
    if not number:
        raise OptionError(f"rate: {rate!r} lets nothing start; to stop a task for a while give concurrency=0")
    if number > unit:
        raise OptionError(f"rate: {rate!r} is more than one start a microsecond; leave it out")
    return ceil(unit / number)


def _burst(size: object) -> int:
    if not isinstance(size, int) or isinstance(size, bool) or not 1 <= size <= MOST_BURST:
        raise OptionError(f"burst: {size!r} is not a whole number from 1 to {MOST_BURST}: how many may start at once")
    return size


def slot(line: Line, limits: Paces, ticket: int) -> int:
    """Return the slot of *ticket* (counted from 0 since the line began)."""
    behind = ticket - line.taken
    return max(line.base, *(turn + behind * pace.every - pace.tolerance for turn, pace in zip(line.turns, limits, strict=True)))


def slots(line: Line, limits: Paces, first: int, count: int) -> list[int]:
    """Return the slots of *count* tickets from *first*."""
    return [slot(line, limits, ticket) for ticket in range(first, first + count)]


def ahead(line: Line, limits: Paces, now: int) -> bool:
    """Return whether the next ticket's turn is in the future, so that a ticket may simply be added."""
    return any(turn - pace.tolerance > now for turn, pace in zip(line.turns, limits, strict=True))


def thresholds(limits: Paces, now: int) -> tuple[int, ...]:
    """Return for each pace the turn above which the line is *ahead*."""
    return tuple(now + pace.tolerance for pace in limits)


def idle_before(limits: Paces, now: int) -> int:
    """Return the moment that all turns must have passed for the line to be as good as new.

    With paces of different intervals it lies before *now*: the last start of a line that a faster pace delayed was later than the slower
    one counted it.
    """
    return now - (max(pace.every for pace in limits) - min(pace.every for pace in limits))


def idle(line: Line, limits: Paces, now: int) -> bool:
    """Return whether the line is as good as new."""
    return max(line.turns) <= idle_before(limits, now)


def joined(line: Line, limits: Paces, count: int) -> Line:
    """Return *line* after *count* tickets more."""
    turns = tuple(turn + count * pace.every for turn, pace in zip(line.turns, limits, strict=True))
    return line._replace(taken=line.taken + count, turns=turns)


def started(limits: Paces, count: int, now: int, nonce: str) -> Line:
    """Return a new line with *count* tickets taken."""
    return joined(Line(now, 0, (now,) * len(limits), nonce), limits, count)


def restarted(line: Line, limits: Paces, count: int, now: int, nonce: str) -> Line:
    """Return *line*, which is neither ahead nor idle, begun anew with *count* tickets taken: the rest of bursts stays."""
    last = slot(line, limits, line.taken - 1)
    turns = tuple(max(now, turn, last + pace.every) for turn, pace in zip(line.turns, limits, strict=True))
    return joined(Line(now, 0, turns, nonce), limits, count)


def told(limits: Paces) -> str:
    """Return *limits* as one short text: the name of the line's rule."""
    return "+".join(f"{pace.every}x{pace.burst}" for pace in limits)
