"""Services: async functions of the user that run for the life of a worker process, on an event loop in a separate thread.

A service that fails is logged and started again after a pause that doubles with each failure in a row. One that returns has ended.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import Future
from functools import partial
from typing import Any

from sedano.model.boot import backoff, failures_in_a_row
from sedano.ports import Telemetry

GRACE_S = 5.0
"""How long (s) all services together may take to end when the process ends."""
Service = Callable[[], Coroutine[Any, Any, Any]]


class Services:
    """Runs *services* by their names from `begin` to `end`."""

    def __init__(
        self, services: Mapping[str, Service], telemetry: Telemetry, rest: Callable[[float], Awaitable[Any]] = asyncio.sleep,
        grace: float = GRACE_S,
    ) -> None:  # fmt: skip
        """Start nothing yet. *rest* waits for some seconds before a failed service is started again."""
        self._services, self._telemetry, self._rest, self._grace = services, telemetry, rest, grace
        self._thread = threading.Thread(target=self._run, name="sedano-services", daemon=True)
        self._cancel: Future[Callable[[], Any]] = Future()

    def begin(self) -> None:
        """Start the thread."""
        self._thread.start()

    def end(self) -> None:
        """Cancel the services, and wait up to the grace time for their `finally` blocks."""
        if self._thread.is_alive():
            self._cancel.result()()
            self._thread.join(2 * self._grace)

    def _run(self) -> None:
        try:
            asyncio.run(self._all())
        except Exception as error:  # noqa: BLE001 - nothing else would hear of it: the loop cannot begin without free file descriptors
            self._telemetry.log("error", "the services cannot run; the process goes on without them", error=_why(error))
        finally:
            if not self._cancel.done():  # `end` must not wait for it
                self._cancel.set_result(_nothing)

    async def _all(self) -> None:
        over = asyncio.Event()
        tasks = {asyncio.create_task(self._kept(name, service)): name for name, service in self._services.items()}
        self._cancel.set_result(partial(asyncio.get_running_loop().call_soon_threadsafe, over.set))
        await over.wait()
        for task in tasks:
            task.cancel()
        _, late = await asyncio.wait(tasks, timeout=self._grace)
        for task in late:
            words = "a service goes on after it was cancelled; the process does not wait for it"
            self._telemetry.log("warning", words, service=tasks[task])

    async def _kept(self, name: str, service: Service) -> None:
        """Run *service*, and again after each failure."""
        failures = 0
        while True:
            begun = time.monotonic()
            try:
                await service()
                return
            except Exception as error:  # noqa: BLE001 - a service may raise anything, and the others go on
                failures = failures_in_a_row(failures, time.monotonic() - begun)
                pause = backoff(failures)
                self._telemetry.count("ServicesFailed", service=name)
                self._telemetry.log("error", "a service failed; it is started again", service=name, error=_why(error), seconds=pause)
            await self._rest(pause)


def _why(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _nothing() -> None:
    """Cancel nothing."""
