"""The replacement of worker processes: the pause before a dead process is started again, and the number of tasks after which a process is
renewed.
"""

from __future__ import annotations

STEADY_S = 5.0
"""Seconds. The death of a process that lived for this long does not count as consecutive."""
MOST_PAUSE_S = 5.0
"""The longest pause (s) before a process is started again."""
SPREAD = 0.1
"""The part by which the number of tasks of a process varies, so that processes do not all end at the same time."""


def backoff(deaths: int) -> float:
    """Return the seconds before a process is started again after *deaths* consecutive deaths: 0, 0.5, 1, 2, 4, then 5."""
    return 0.0 if deaths <= 1 else float(min(MOST_PAUSE_S, 0.5 * 2 ** (deaths - 2)))


def in_a_row(deaths: int, lived: float) -> int:
    """Return the number of consecutive deaths of a process that had *deaths* of them before and now died after *lived* seconds."""
    return 1 if lived >= STEADY_S else deaths + 1


def spread(most: int, unit: float) -> int:
    """Return the number of tasks after which a process ends, which is about *most*; *unit* is a random number from 0 to 1."""
    return max(1, round(most * (1 - SPREAD + 2 * SPREAD * unit)))
