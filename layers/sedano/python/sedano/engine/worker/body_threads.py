"""The threads on which `def` bodies run, as many at once as their budget allows, which follows the waiting bodies in this process.

The CEP's Maximal Concurrency Budget; the rule is pure (`sedano.model.budgets`). A submitted body waits until fewer bodies run than the
current limit; the limit is checked whenever a body is submitted or ends.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

from sedano.model.budgets import Budget, Level, Load, Strategy
from sedano.ports import Clock


class BudgetedThreads(ThreadPoolExecutor):
    """Threads under a budget, instead of a pool of a fixed size."""

    def __init__(self, budget: Budget, strategy: Strategy, clock: Clock) -> None:
        """Run at least `budget.least` bodies at once where there are so many, at most `budget.most`."""
        super().__init__(budget.most, "sedano-body")
        self._budget, self._strategy, self._clock = budget, strategy, clock
        self._level = Level(budget.least)
        self._handed: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._running = 0
        self._turns = threading.Lock()

    @property
    def limit(self) -> int:
        """How many may run at once now."""
        return self._level.limit

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Submit a call; it begins when the budget allows it."""
        future: Future[Any] = Future()
        with self._turns:
            self._handed.append((future, partial(fn, *args, **kwargs)))
        self._turn()
        return future

    def _turn(self) -> None:
        """Begin the bodies that the current limit allows."""
        begin = []
        with self._turns:
            self._level = self._strategy(self._budget, self._level, Load(len(self._handed), self._running), self._clock.now())
            while self._handed and self._running < self._level.limit:
                self._running += 1
                begin.append(self._handed.popleft())
        for future, call in begin:
            super().submit(self._run, future, call)

    def _run(self, future: Future[Any], call: Callable[[], Any]) -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001 - it is raised again where the result is asked for
            future.set_exception(error)
        finally:
            with self._turns:
                self._running -= 1
            self._turn()
