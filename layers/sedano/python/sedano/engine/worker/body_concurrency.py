"""The number of bodies that run at once: the threads for `def` bodies and the turns of async ones, by the app's budgets."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from sedano.ports import Clock

if TYPE_CHECKING:
    from sedano.engine.worker.body_coroutines import Turns
    from sedano.model.budgets import Budget, Strategy


def pool(budget: tuple[Budget, Strategy] | None, concurrency: int, clock: Clock) -> ThreadPoolExecutor | None:
    """Return the threads for `def` bodies: as many as *budget* allows, else *concurrency*; None: they run inline."""
    if budget is not None:
        from sedano.engine.worker.body_threads import BudgetedThreads

        return BudgetedThreads(*budget, clock)
    return ThreadPoolExecutor(concurrency, "sedano-body") if concurrency > 1 else None


def turns(budget: tuple[Budget, Strategy] | None, clock: Clock) -> Turns | None:
    """Return the turns of async bodies under *budget*; None: all of a batch run at once."""
    if budget is None:
        return None
    from sedano.engine.worker.body_coroutines import Turns

    return Turns(*budget, clock)
