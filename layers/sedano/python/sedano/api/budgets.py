"""Budgets of queues as an app declares them, checked where they are written; see `Sedano.budget`."""

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
"""The most threads of a worker unless more are asked for (CEP: more than ten of CPU-bound work slow each other down); an invocation
is over before a cool-down would be."""


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
        OptionError: one of them is unknown or cannot be honoured, or the queue has a budget.
    """
    if queue not in app.queues:
        raise OptionError(f"budget: {queue!r} is none of this app's queues {tuple(app.queues)}")
    if queue in app.registry.budgets:
        raise OptionError(f"budget: the queue {queue} has one already")
    budget = _budget({"least": LEAST, **options})
    if budget.least < LEAST or budget.most > MOST:
        raise OptionError(f"budget: {budget.least} to {budget.most} invocations; an event source mapping takes {LEAST} to {MOST}")
    return QueueBudget(budget, _strategy(strategy))


def warned_threads(strategy: Strategy | Named, options: Mapping[str, Any]) -> tuple[Budget, Strategy]:
    """Return the budget of a worker's threads, with a warning where more are asked for than CPU-bound work has a use for.

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
    """Return the budget of a worker's threads, or of its coroutines, and the strategy by which it follows what waits.

    Raises:
        OptionError: an option is unknown or cannot be honoured.
    """
    return _budget({"most": THREADS, "cooldown": THREADS_COOLDOWN_S, **options}), _strategy(strategy)


def _strategy(asked: Strategy | Named) -> Strategy:
    found = NAMED.get(asked) if isinstance(asked, str) else asked
    if not callable(found):
        raise OptionError(f"strategy: {asked!r} is none; known by name are {', '.join(NAMED)}, and a function of your own may decide")
    return found


def _budget(options: Mapping[str, Any]) -> Budget:
    known = tuple(field.name for field in fields(Budget))
    unknown = sorted(set(options) - {*known})
    if unknown:
        raise UnknownOption(unknown[0], known, "a budget")
    return Budget(**options)
