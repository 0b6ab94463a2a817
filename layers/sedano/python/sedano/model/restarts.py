"""When a process that works is replaced: after how many seconds when it has died, and after how much work when it is to be new."""

from __future__ import annotations

STEADY_S = 5.0
"""A process that lived for so long has not died in a row."""
MOST_PAUSE_S = 5.0
"""The longest pause before a process is started again."""
SPREAD = 0.1
"""By which part the work of a process before its end differs from that of others, so that they do not all end at once."""


def backoff(deaths: int) -> float:
    """Return the seconds before a process is started again that has died *deaths* times in a row: 0, 0.5, 1, 2, 4, then 5."""
    return 0.0 if deaths <= 1 else float(min(MOST_PAUSE_S, 0.5 * 2 ** (deaths - 2)))


def in_a_row(deaths: int, lived: float) -> int:
    """Return how often a process has died in a row that died before *deaths* times, and now after *lived* seconds."""
    return 1 if lived >= STEADY_S else deaths + 1


def spread(most: int, unit: float) -> int:
    """Return after how many tasks a process ends that shall work off about *most*; *unit*: a random number from 0 to 1."""
    return max(1, round(most * (1 - SPREAD + 2 * SPREAD * unit)))
