"""Waiting for what another thread or process does, where nothing signals it: look often, and fail after a while."""

import time
from collections.abc import Callable

MOST_SECONDS = 120.0
"""How long anything may take: the machine may be busy."""
LOOK_S = 0.01


def until(reached: Callable[[], bool]) -> None:
    """Wait until *reached* holds."""
    end = time.monotonic() + MOST_SECONDS
    while not reached():
        assert time.monotonic() < end, f"it did not happen within {MOST_SECONDS:g} s"
        time.sleep(LOOK_S)
