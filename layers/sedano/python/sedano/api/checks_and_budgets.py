"""The declarations of health checks, of queue budgets and of spending limits. Part of `Sedano`, loaded when it is used."""

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
    """The health checks, the queue budgets and the spending limits of an app."""

    name: str
    queues: tuple[str, ...]
    registry: Registry

    @property
    @abstractmethod
    def outlet(self) -> Outlet:
        """The publisher."""

    def health_check(self, name: str, *, states: Sequence[str] | None = None, every: float = 30.0, shared: bool = False) -> Check:
        """Declare a health check, for the circuits of tasks: `web = app.health_check("web")`, then `@web` on check functions.

        Args:
            name: the check's name.
            states: the possible states, from best to worst; by default the CEP's five.
            every: seconds for which a result is valid.
            shared: the result of one worker applies to all; otherwise each worker checks for itself.

        Raises:
            OptionError: an option cannot be honoured, or another check has the name.
        """
        from sedano.api.health import declared

        return declared(self, name, states, every, shared)

    def budget(self, queue: str, *, strategy: Strategy | Named = "cep", **options: Any) -> None:
        """Let the controller decide how many invocations *queue* may have at once, between `least` and `most`.

        Args:
            queue: one of the app's command queues.
            strategy: ``"cep"`` grows by the backlog, then exponentially, and pauses longer after each change (Celery 5's design);
                ``"tracking"`` follows the number of waiting messages; or your own function (`sedano.model.budgets.Strategy`).
            options: see `sedano.model.budgets.Budget`; `least` is at least 2 and `most` at most 1 000, the limits of Lambda.

        Raises:
            OptionError: an option cannot be honoured, or the queue already has a budget.
        """
        from sedano.api.budgets import budget_of

        budget = budget_of(self, queue, strategy, options)
        for port in ("consumers", "memos"):
            self.registry.need(port, f"the budget of the queue {queue!r}")
        self.registry.budgets[queue] = budget

    def spending(self, amount: str, *, tenant: str = "", per: str = "day") -> None:
        """Limit the dollars that all tasks of the app, or those of one tenant, cost in a UTC day.

        The cost is that of `sedano cost --days 1`: the invocations of the functions at list prices, counted from their own reports. Each
        minute the controller compares it with the limit. At 80 % it warns; at 100 % it pauses the tenant, or all queues, until the end of
        the UTC day. Tasks that run meanwhile continue, and reports arrive up to two minutes late, so a day can cost a little more.

        Args:
            amount: dollars with at most nine decimals, such as ``"0.50 USD"``.
            tenant: the tenant that it limits; empty: the whole app, with its router and recorder.
            per: the period; ``"day"`` is the only one.

        Raises:
            OptionError: the amount, the tenant or the period is not valid, or the same limit is declared twice.
        """
        from sedano.api.spending_declaration import spending_of

        limit = spending_of(self.registry, amount, tenant, per)
        for port in ("rollups", "control", "memos"):
            self.registry.need(port, f"the spending limit of {limit.owner}")
        self.registry.spending[limit.tenant] = limit.nanodollars

    def threads(self, *, strategy: Strategy | Named = "cep", **options: Any) -> None:
        """Let each worker run its waiting `def` bodies on threads, within a budget; by default they run one after another.

        Args:
            strategy: as in `budget`.
            options: see `sedano.model.budgets.Budget`: ``most`` is by default 10, the batch size of an invocation; ``cooldown`` is 0 s.

        Raises:
            OptionError: an option cannot be honoured.
        """
        from sedano.api.budgets import warned_threads

        self.registry.threads = warned_threads(strategy, options)

    def coroutines(self, *, strategy: Strategy | Named = "cep", **options: Any) -> None:
        """Limit by a budget how many `async def` bodies each worker runs at once; by default it runs all of a batch at once.

        Bodies that have not begun when the invocation's time is over are returned to the queue and do not count as attempts.

        Args:
            strategy: as in `budget`.
            options: as in `threads`.

        Raises:
            OptionError: an option cannot be honoured.
        """
        from sedano.api.budgets import threads_of

        self.registry.coroutines = threads_of(strategy, options)
