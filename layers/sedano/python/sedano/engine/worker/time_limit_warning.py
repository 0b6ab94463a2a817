"""A warning before a function's time limit ends the bodies that still run, because the process cannot log anything after that.

At `WARNED_AT` of the invocation's time each body that has begun and not ended is logged with its task. One thread watches for the whole
life of the process. It sleeps as long as the earliest possible limit of an invocation that begins meanwhile allows, so an invocation costs
two assignments, and an invocation that ends in time causes no wake-up.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from sedano.engine.task_context import TaskContext
from sedano.ports import Clock, Telemetry

WARNED_AT = 0.8
"""The part of an invocation's time after which bodies that still run are logged."""
SHORTER = 0.9
"""An invocation whose time is below this share of the shortest one before needs an earlier check."""
ENDING = "a task still runs at 80 % of its function's time limit; it is ended with the function and runs again"


class Overtime:
    """Watches the invocations of one worker, one at a time. *running*: the bodies that have not ended."""

    def __init__(self, running: Callable[[], Iterable[TaskContext]], clock: Clock, telemetry: Telemetry) -> None:
        """Start without an invocation."""
        self._running, self._clock, self._telemetry = running, clock, telemetry
        self._invocation: tuple[float, float] | None = None
        self._shortest = float("inf")

    def begin(self, seconds: float) -> None:
        """Watch an invocation that ends in *seconds*."""
        self._invocation = (self._clock.monotonic(), seconds)
        if seconds < SHORTER * self._shortest:  # the first invocation, as a rule: its function's time limit
            self._shortest = seconds
            threading.Thread(target=self._watch, args=(seconds,), name="sedano-overtime", daemon=True).start()

    def end(self) -> None:
        """The invocation has ended."""
        self._invocation = None

    def look(self) -> float:
        """Log bodies that still run, if it is time to; return the seconds until the next check."""
        invocation, pause = self._invocation, WARNED_AT * self._shortest
        if invocation is None:
            return pause
        began, seconds = invocation
        left = began + WARNED_AT * seconds - self._clock.monotonic()
        if left > 0:
            return min(left, pause)
        self._invocation = None
        for context in self._running():
            self._telemetry.log(
                "warning", ENDING, task=context.task, task_id=context.id, attempt=context.attempt, trace_id=context.span.trace_id,
                limit=round(seconds, 1),
            )  # fmt: skip
        return pause

    def _watch(self, shortest: float) -> None:
        never = threading.Event()
        while self._shortest == shortest:
            never.wait(self.look())
