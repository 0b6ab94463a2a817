"""The turns of `async def` bodies: as many run at once as their budget allows, which follows the number of waiting bodies in this process.

The CEP's Maximal Concurrency Budget for coroutines, as `engine.worker.body_threads` is for threads; the rule is pure
(`sedano.model.budgets`). The limit is checked whenever a body asks for its turn and whenever one ends. The known load is kept beyond the
loop of one batch.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sedano.model.budgets import Budget, Level, Load, Strategy
from sedano.ports import Clock


class Turns:
    """Gives turns. One per worker; only one loop asks at a time."""

    def __init__(self, budget: Budget, strategy: Strategy, clock: Clock) -> None:
        """Let at least `budget.least` bodies run at once where there are so many, at most `budget.most`."""
        self._budget, self._strategy, self._clock = budget, strategy, clock
        self._level = Level(budget.least)
        self._asked: deque[asyncio.Future[None]] = deque()
        self._running = 0

    @property
    def limit(self) -> int:
        """How many may run at once now."""
        return self._level.limit

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait until the budget lets one more run, and count as running for the length of the block."""
        asked = asyncio.get_running_loop().create_future()
        self._asked.append(asked)
        self._look()
        try:
            await asked
            yield
        finally:
            asked.cancel()  # it changes nothing where the turn was given
            if not asked.cancelled():
                self._running -= 1
            self._look()

    def _look(self) -> None:
        """Start the bodies that the current limit allows; a body that was cancelled while it waited does not start."""
        self._asked = deque(asked for asked in self._asked if not asked.done())
        self._level = self._strategy(self._budget, self._level, Load(len(self._asked), self._running), self._clock.now())
        while self._asked and self._running < self._level.limit:
            self._running += 1
            self._asked.popleft().set_result(None)
