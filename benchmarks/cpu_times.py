"""The CPU of a piece of work, as the benchmark of the pages and the budgets of their tests measure it."""

from __future__ import annotations

import time
from collections.abc import Callable


def milliseconds(work: Callable[[], object], tries: int) -> float:
    """Return the CPU of *work* in ms, the best of so many *tries*."""
    found = []
    for _ in range(tries):
        began = time.process_time()
        work()
        found.append((time.process_time() - began) * 1_000)
    return min(found)
