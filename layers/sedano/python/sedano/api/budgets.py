"""The declaration of queue budgets, checked when they are declared; see `Sedano.budget`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, Protocol

from sedano.engine.registry import Registry
from sedano.errors import OptionError, UnknownOption
from sedano.model.budgets import NAMED, Budget, Named, Strategy
from sedano.model.cluster.controller import QueueBudget

LEAST, MOST = 2, 1_000
"""The allowed maximum concurrency of an event source mapping (AWS)."""
THREADS, THREADS_COOLDOWN_S = 10, 0.0
"""The most threads of a worker unless more are asked for (CEP: more than ten of CPU-bound work slow each other down); an invocation ends
before a cool-down would."""


class Budgets(Protocol):
    """The part of an app that the declaration of a budget needs."""

    @property
    def queues(self) -> Sequence[str]:
        """The names of its command queues."""

    @property
    def registry(self) -> Registry:
        """The budgets declared so far."""


def budget_of(app: Budgets, queue: str, strategy: Strategy | Named, options: Mapping[str, Any]) -> QueueBudget:
    """Return the budget of *queue* under these *options*.

    Raises:
        OptionError: an option is unknown or cannot be honoured, or the queue already has a budget.
    """
    if queue not in app.queues:
        raise OptionError(f"budget: {queue!r} is not one of this app's queues {tuple(app.queues)}")
    if queue in app.registry.budgets:
        raise OptionError(f"budget: the queue {queue} already has one; declare it once")
    budget = _budget({"least": LEAST, **options})
    if budget.least < LEAST or budget.most > MOST:
        raise OptionError(f"budget: {budget.least} to {budget.most} invocations are not within {LEAST} to {MOST}, the limits of AWS")
    return QueueBudget(budget, _strategy(strategy))


def warned_threads(strategy: Strategy | Named, options: Mapping[str, Any]) -> tuple[Budget, Strategy]:
    """Return the budget of a worker's threads; warn if it has more threads than CPU-bound work can use.

    Raises:
        OptionError: an option is unknown or cannot be honoured.
    """
    made = threads_of(strategy, options)
    if made[0].most > THREADS:
        warnings.warn(
            f"threads: most={made[0].most}; more than {THREADS} threads of CPU-bound work slow one another down; "
            "give tasks that wait `async def` bodies, which need no thread",
            UserWarning, stacklevel=3,
        )  # fmt: skip
    return made


def threads_of(strategy: Strategy | Named, options: Mapping[str, Any]) -> tuple[Budget, Strategy]:
    """Return the budget of a worker's threads, or of its coroutines, and the strategy that adapts it to the waiting calls.

    Raises:
        OptionError: an option is unknown or cannot be honoured.
    """
    return _budget({"most": THREADS, "cooldown": THREADS_COOLDOWN_S, **options}), _strategy(strategy)


def _strategy(asked: Strategy | Named) -> Strategy:
    found = NAMED.get(asked) if isinstance(asked, str) else asked
    if not callable(found):
        raise OptionError(f"strategy: {asked!r} is not a strategy; write one of {', '.join(NAMED)}, or give a function")
    return found


def _budget(options: Mapping[str, Any]) -> Budget:
    known = tuple(field.name for field in fields(Budget))
    unknown = sorted(set(options) - {*known})
    if unknown:
        raise UnknownOption(unknown[0], known, "a budget")
    return Budget(**options)
