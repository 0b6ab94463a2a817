"""The declarations of health checks and of queue budgets. Part of `Sedano`, loaded when it is used."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sedano.engine.publisher.publisher import Outlet
from sedano.engine.registry import Registry

if TYPE_CHECKING:
    from sedano.api.health import Check
    from sedano.model.budgets import Named, Strategy


class Guarded(ABC):
    """The health checks and the queue budgets of an app."""

    name: str
    queues: tuple[str, ...]
    registry: Registry

    @property
    @abstractmethod
    def outlet(self) -> Outlet:
        """The way out."""

    def health_check(self, name: str, *, states: Sequence[str] | None = None, every: float = 30.0, shared: bool = False) -> Check:
        """Declare a health check, for the circuits of tasks: `web = app.health_check("web")`, then `@web` on functions that look.

        Args:
            name: the check's name.
            states: what a look may find, from best to worst; by default the CEP's five.
            every: seconds for which what was found holds.
            shared: what one worker finds holds for all; otherwise each worker looks for itself.

        Raises:
            OptionError: an option cannot be honoured, or another check has the name.
        """
        from sedano.api.health import declared

        return declared(self, name, states, every, shared)

    def budget(self, queue: str, *, strategy: Strategy | Named = "cep", **options: Any) -> None:
        """Let the controller decide how many invocations *queue* may have at once, between `least` and `most`.

        Args:
            queue: one of the app's command queues.
            strategy: ``"cep"`` grows by the backlog, then exponentially, and rests longer after each change (Celery 5's design);
                ``"tracking"`` has as many as there is work for; or a function of yours (`sedano.model.budgets.Strategy`).
            options: see `sedano.model.budgets.Budget`; `least` is at least 2 and `most` at most 1 000, as Lambda has it.

        Raises:
            OptionError: an option cannot be honoured, or the queue has a budget.
        """
        from sedano.api.budgets import budget_of

        budget = budget_of(self, queue, strategy, options)
        for port in ("consumers", "memos"):
            self.registry.need(port, f"the budget of the queue {queue!r}")
        self.registry.budgets[queue] = budget

    def threads(self, *, strategy: Strategy | Named = "cep", **options: Any) -> None:
        """Let each worker run its `def` bodies on threads, as many at once as wait in it, within a budget; without one they run in turn.

        Args:
            strategy: as in `budget`.
            options: see `sedano.model.budgets.Budget`: ``most`` is 10 unless it is given, as many as an invocation takes, ``cooldown`` 0 s.

        Raises:
            OptionError: an option cannot be honoured.
        """
        from sedano.api.budgets import warned_threads

        self.registry.threads = warned_threads(strategy, options)

    def coroutines(self, *, strategy: Strategy | Named = "cep", **options: Any) -> None:
        """Let each worker run as many of its `async def` bodies at once as wait in it, within a budget; without one all of a batch.

        Those that have not begun when the invocation's time is over are given back, and not counted as tried.

        Args:
            strategy: as in `budget`.
            options: as in `threads`.

        Raises:
            OptionError: an option cannot be honoured.
        """
        from sedano.api.budgets import threads_of

        self.registry.coroutines = threads_of(strategy, options)
