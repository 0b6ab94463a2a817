"""How often tasks may start: a line of tickets, each with a time slot. Pure.

The rule is GCRA (ITU-T I.371), the leaky bucket as one number: with an interval *T* between two starts and a *burst* of *B*, any window of
length *W* has at most ``W/T + B`` starts. Several paces can apply at once. The addition here: a refused task gets a slot, which stays
reserved for it, so it does not poll, and waiting costs nothing.

A line is stored as numbers that mostly only grow, so many callers can take tickets without conflicts. While the line is ahead of the clock,
a ticket is one addition (*join*), which never fails. After a long enough time without tickets, the line begins again (*start*). Only in
between, when a part of a burst is left, a ticket needs a compare-and-swap (*restart*).

Why additions are enough. Let a line begin at *base*, where no pace delays a start, `next_i >= base` the earliest time of its next start by
pace *i* alone, tolerance `(B_i - 1) T_i`. Then ticket *m* has the slot ``max(base, max_i(next_i + m T_i - tolerance_i))``: because every
pace counts its starts at its own rate, ``max(next, slot)`` of GCRA never raises a number above that maximum (`tests/unit/test_rates`
compares them). Times are whole microseconds since the epoch.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import partial
from math import ceil, inf, nan
from typing import NamedTuple

from sedano.errors import OptionError

SECOND = 1_000_000
UNITS = {"s": SECOND, "m": 60 * SECOND, "h": 3_600 * SECOND, "d": 86_400 * SECOND}
MOST_PACES = 3
"""The most windows of a rate: each is one number of the line."""
MOST_BURST = 1_000_000
_RATE = re.compile(r"([0-9]+(?:\.[0-9]+)?)/([smhd])")
RateText = str | int | float


class Pace(NamedTuple):
    """One start in *every* microseconds, and up to *burst* of them at once."""

    every: int
    burst: int = 1

    @property
    def tolerance(self) -> int:
        """How far (µs) a start may precede its turn."""
        return (self.burst - 1) * self.every


Paces = tuple[Pace, ...]


class Line(NamedTuple):
    """The line of one rate: it began at *base*, and *taken* tickets were taken since; *turns* has the turn of the next start for each pace.

    *nonce* identifies the write that began it.
    """

    base: int
    taken: int
    turns: tuple[int, ...]
    nonce: str = ""


class LineChanged(NamedTuple):
    """The answer to a write: *done*, or refused; in both cases with the current line (None: no line exists)."""

    done: bool
    line: Line | None


def paces(rate: RateText | Sequence[RateText], burst: int | Sequence[int] = 1) -> Paces:
    """Return *rate* as paces: ``"200/m"``, a number per second, or several windows; *burst* is one number for all of them, or one for each.

    Raises:
        OptionError: *rate* is not a rate above 0, or a window has no effect because another one is always slower.
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
            raise OptionError(f"rate: {one!r} has no effect beside the others; give the longer window a burst: burst=(1, 50)")
    return found


def _read(rate: object) -> tuple[float, int]:
    """Return the number per unit, and the unit in microseconds; NaN if *rate* is not a rate."""
    if isinstance(rate, str):
        match = _RATE.fullmatch(rate)
        return (float(match[1]), UNITS[match[2]]) if match is not None else (nan, SECOND)
    return (float(rate) if isinstance(rate, int | float) and not isinstance(rate, bool) else nan), SECOND


def _every(rate: RateText) -> int:
    number, unit = _read(rate)
    if not 0 <= number < inf:
        raise OptionError(f"rate: {rate!r} is not a valid rate; write '200/m', '10/s', '5/h', '3/d', or a number per second")
    if not number:
        raise OptionError(f"rate: {rate!r} allows no starts; to suspend a task, write concurrency=0")
    if number > unit:
        raise OptionError(f"rate: {rate!r} is more than one start per microsecond; remove the rate")
    return ceil(unit / number)


def _burst(size: object) -> int:
    if not isinstance(size, int) or isinstance(size, bool) or not 1 <= size <= MOST_BURST:
        raise OptionError(f"burst: {size!r} is not a whole number from 1 to {MOST_BURST}; write how many tasks may start at once")
    return size


def slot(line: Line, limits: Paces, ticket: int) -> int:
    """Return the slot of *ticket*, counted from 0 at the beginning of the line."""
    behind = ticket - line.taken
    return max(line.base, *(turn + behind * pace.every - pace.tolerance for turn, pace in zip(line.turns, limits, strict=True)))


def slots(line: Line, limits: Paces, first: int, count: int) -> list[int]:
    """Return the slots of *count* tickets from *first*."""
    return [slot(line, limits, ticket) for ticket in range(first, first + count)]


def reserved(line: Line, limits: Paces, now: int) -> int:
    """Return how many of the tickets of *line* have a slot after *now*: the slots never decrease, so it is found by bisection."""
    return line.taken - bisect_right(range(line.taken), now, key=partial(slot, line, limits))


def ahead(line: Line, limits: Paces, now: int) -> bool:
    """Return whether the turn of the next ticket is in the future, so that one addition takes a ticket."""
    return any(turn - pace.tolerance > now for turn, pace in zip(line.turns, limits, strict=True))


def thresholds(limits: Paces, now: int) -> tuple[int, ...]:
    """Return for each pace the turn above which the line is `ahead`."""
    return tuple(now + pace.tolerance for pace in limits)


def idle_before(limits: Paces, now: int) -> int:
    """Return the time before which all turns must be for the line to be idle.

    With paces of different intervals it is before *now*: if a faster pace delayed the last start, the start was later than the slower pace
    counted it.
    """
    return now - (max(pace.every for pace in limits) - min(pace.every for pace in limits))


def idle(line: Line, limits: Paces, now: int) -> bool:
    """Return whether the line is idle: it allows the same starts as a new one."""
    return max(line.turns) <= idle_before(limits, now)


def joined(line: Line, limits: Paces, count: int) -> Line:
    """Return *line* with *count* more tickets taken."""
    turns = tuple(turn + count * pace.every for turn, pace in zip(line.turns, limits, strict=True))
    return line._replace(taken=line.taken + count, turns=turns)


def started(limits: Paces, count: int, now: int, nonce: str) -> Line:
    """Return a new line with *count* tickets taken."""
    return joined(Line(now, 0, (now,) * len(limits), nonce), limits, count)


def restarted(line: Line, limits: Paces, count: int, now: int, nonce: str) -> Line:
    """Return a new line with *count* tickets taken in place of *line*, which is neither ahead nor idle: the used part of bursts is kept."""
    return joined(Line(now, 0, tuple(max(now, turn) for turn in line.turns), nonce), limits, count)


def in_words(limits: Paces) -> str:
    """Return *limits* for people, such as ``1 in 0.1 s, up to 5 at once``."""
    return " and ".join(f"1 in {pace.every / SECOND:g} s{f', up to {pace.burst} at once' * (pace.burst > 1)}" for pace in limits)


def line_name(task: str, limits: Paces, key: str = "") -> str:
    """Return the name of the line of the rate *limits* of *task*, for one *key* of its calls."""
    return f"{task}/{rule_text(limits)}/{key}"


def rule_text(limits: Paces) -> str:
    """Return *limits* as one short text, which identifies the rule of a line."""
    return "+".join(f"{pace.every}x{pace.burst}" for pace in limits)
