"""`@app.boot` and `@app.service`: what a worker process starts before its first task, keeps running, and stops at its end.

    @app.boot(after=["settings"])
    def database():
        pool = connect()
        yield
        pool.close()

    @app.service
    async def prices() -> None: ...
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar, overload

from sedano.engine.registry import Registry

F = TypeVar("F", bound=Callable[[], Any])
S = TypeVar("S", bound=Callable[[], Coroutine[Any, Any, Any]])


class Booting:
    """The boot steps and the services of an app."""

    registry: Registry

    @overload
    def boot(self, function: F, /) -> F: ...

    @overload
    def boot(
        self, /, *, name: str | None = None, after: Iterable[str] = (), optional: bool = False, timeout: float | None = None,
        attempts: int | None = None,
    ) -> Callable[[F], F]: ...  # fmt: skip

    def boot(
        self, function: F | None = None, /, *, name: str | None = None, after: Iterable[str] = (), optional: bool = False,
        timeout: float | None = None, attempts: int | None = None,
    ) -> Any:  # fmt: skip
        """Declare a boot step: a function without arguments that each worker process runs once, before its first task.

        A generator function is a start and a stop: the code after its `yield` runs when the process ends, in the reverse order.

        Args:
            function: the function, when the decorator has no options.
            name: the step's name; by default the function's.
            after: the names of the steps that must have started before it; they may be declared later.
            optional: if it fails, the process starts in a degraded state: tasks run, the steps that name it in `after` are blocked, and it
                is tried again between batches.
            timeout: how long (s) the process waits for its start, and for its stop (at most 900); by default without a limit.
            attempts: how often it is tried, with pauses of 1, 2, 4 … 300 s between the tries (1 to 100); by default 5 for an optional
                step, and 1 for a mandatory one.

        Raises:
            OptionError: an option cannot be honoured, the name is taken, or steps depend on one another in a cycle.
        """
        from sedano.api.boot_declaration import declare_step

        def declared(one: F) -> F:
            declare_step(self.registry, one, name, after, optional, timeout, attempts)
            return one

        return declared if function is None else declared(function)

    def service(self, function: S) -> S:
        """Declare a service: an `async def` function without arguments that runs for the life of each worker process.

        It starts after the boot steps, on an event loop of its own, and is cancelled when the process ends. One that fails is logged and
        started again. On Lambda it runs only while the function is invoked.

        Raises:
            OptionError: it is not an `async def` function without arguments, or the name is taken.
        """
        from sedano.api.boot_declaration import declare_service

        declare_service(self.registry, function)
        return function
