"""How the lanes of a process share one call: the lane that makes it waits a moment for others that are about to add to it.

While a call takes longer than that moment, the other lanes gather for the next one without any wait. Calls that are shorter, such as those
to an endpoint on the same machine, would be made for each lane alone, and take most of the CPU of a short task. So a lane waits only

- while calls are short: the quickest of the last ones took less than the moment, but longer than a call within the process;
- while other lanes *follow*: they have taken a task, or are about to, and have not handed it over to this call or an earlier one;
- while it pays: the last wait gained a lane, or the last call, without a wait, was for several. So a short task beside long ones does not
  wait.

The wait ends when no other lane follows.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

GATHER_S = 0.001
"""How long one lane, or one receiver, waits for others at most, in seconds; and the time that a short call takes at most."""
LEAST_S = 0.0001
"""A call that takes less, in seconds, is made to no other process, and costs less than a wait for others."""
MOST_LANES = 10
"""A call for so many lanes is made at once: queues accept ten messages with one call."""
FORGETS = 1.1
"""The factor by which the time of the quickest call grows with each slower one, so that it is that of the last calls."""
Wait = Callable[[threading.Condition, float], object]


def _no() -> bool:
    return False


class GatheredCalls:
    """Counts the lanes that a call is for, and knows those that follow. *lock* is held around `add` and `gather`, and by the owner
    around the messages of that call. A lane is known by its thread.
    """

    def __init__(
        self, begins: Callable[[], bool] = _no, wait: Wait = threading.Condition.wait, now: Callable[[], float] = time.monotonic
    ) -> None:
        """*begins*: whether a lane is about to take a task; *wait* waits for a notification, at most for so many seconds; *now*: seconds of
        a clock, by which calls are timed.
        """
        self.lock, self._begins, self._wait, self._now = threading.Condition(), begins, wait, now
        self._following = set[int]()
        self._lanes, self._pays, self._quickest = 0, False, float("inf")

    @property
    def are_short(self) -> bool:
        """Whether calls take less than a wait, but more than a call within the process."""
        return LEAST_S <= self._quickest < GATHER_S

    def expect(self) -> None:
        """Note that the lane of this thread has taken a task, and will follow."""
        with self.lock:
            self._following.add(threading.get_ident())

    def forget(self) -> None:
        """Note that the lane of this thread has ended its task, whether it made a call or not."""
        lane = threading.get_ident()
        if lane in self._following:
            with self.lock:
                self._following.discard(lane)
                self._look()

    def add(self) -> None:
        """Count the lane of this thread, which handed its messages over."""
        self._lanes += 1
        self._following.discard(threading.get_ident())
        self._look()

    def gather(self) -> None:
        """Wait for the lanes that follow if that pays, before the messages are taken; the count begins anew."""
        before = 1
        if self._pays and self.are_short and not self._is_full():
            before = self._lanes
            self._wait(self.lock, GATHER_S)
        self._pays, self._lanes = self._lanes > before, 0

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Note how long the call in this block takes."""
        began = self._now()
        try:
            yield
        finally:
            self._quickest = min(self._now() - began, self._quickest * FORGETS)

    def _is_full(self) -> bool:
        return self._lanes >= MOST_LANES or not (self._following or self._begins())

    def _look(self) -> None:
        if self._is_full():
            self.lock.notify()
