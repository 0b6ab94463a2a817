"""How the lanes of a process share one call: the lane that makes it waits a moment for others that are about to add to it.

Lanes that finish at almost the same time would otherwise make a call each, and calls are most of the CPU of a short task. A lane waits only

- while other lanes work,
- while it pays: the last call was made for several lanes. So the only short task beside long ones does not wait.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

GATHER_S = 0.001
"""How long one lane, or one receiver, waits for others at most, in seconds."""
MOST_LANES = 10
"""A call for so many lanes is made at once: queues accept ten messages with one call."""
Wait = Callable[[threading.Condition, float], object]


def _alone() -> bool:
    return False


class GatheredCalls:
    """Counts the lanes that a call is for. *lock* is held around each method, and by the owner around the messages of that call."""

    def __init__(self, others: Callable[[], bool] = _alone, wait: Wait = threading.Condition.wait) -> None:
        """*others*: whether other lanes work; *wait* waits for a notification, at most for so many seconds."""
        self.lock = threading.Condition()
        self._others, self._wait = others, wait
        self._lanes, self._pays = 0, False

    def add(self) -> None:
        """Count one more lane that handed its messages over."""
        self._lanes += 1
        if self._lanes >= MOST_LANES:
            self.lock.notify()

    def gather(self) -> None:
        """Wait for more lanes if that pays, before the messages are taken; the count begins anew."""
        if self._pays and self._lanes < MOST_LANES and self._others():
            self._wait(self.lock, GATHER_S)
        self._pays, self._lanes = self._lanes > 1, 0
