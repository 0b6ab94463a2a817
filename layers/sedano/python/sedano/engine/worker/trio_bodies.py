"""Runs the body of a task that is declared with `loop="trio"`: `trio.run` in a thread of its own, which an event loop of asyncio awaits.

For the engine it is a body like the other `async def` bodies, so a time limit, a revocation, the end of a batch and the drain of a worker
cancel it in the same way: they cancel the scope around the body, and the body may clean up in a shielded scope. A body that blocks its
loop blocks no other body. Needs the extra `sedano[trio]`; loaded with the first such body that runs.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import trio


class TrioRun:
    """One call of a body under trio. *ended* is called on its thread once it has ended."""

    def __init__(self, call: Callable[[], Awaitable[Any]], ended: Callable[[], object]) -> None:
        """Begin nothing yet."""
        self._call, self._ended, self._lock = call, ended, threading.Lock()
        self._scope = trio.CancelScope()
        self._token: trio.lowlevel.TrioToken | None = None
        self._cancelled = False
        self.cut = False
        self.value: Any = None
        self.error: BaseException | None = None

    def work(self) -> None:
        """Run the body to its end, on the calling thread."""
        try:
            trio.run(self._body)
        except BaseException as error:  # noqa: BLE001 - it is raised again where the body is awaited
            self.error = error
        finally:
            self._ended()

    def cancel(self) -> None:
        """Cancel the body, or have it cancelled at its first checkpoint; may be called by any thread, and again."""
        with self._lock:
            self._cancelled, token = True, self._token
        if token is not None:
            with suppress(trio.RunFinishedError):
                token.run_sync_soon(self._scope.cancel)

    async def _body(self) -> None:
        with self._lock:
            self._token = trio.lowlevel.current_trio_token()
        if self._cancelled:
            self._scope.cancel()
        try:
            with self._scope:
                self.value = await self._call()
        except BaseException as error:  # noqa: BLE001 - a body may raise anything
            frames = error.__traceback__
            self.error = error.with_traceback(frames.tb_next if frames is not None else None)  # without this frame
        self.cut = self._scope.cancelled_caught


async def run_in_trio(call: Callable[[], Awaitable[Any]]) -> Any:
    """Return the value of *call*, which runs under trio in its own thread, with the context variables of the caller.

    A cancellation is passed on to it and waits for its end: a call that ended with a value in spite of it returns this value.

    Raises:
        CancelledError: it was cancelled.
        BaseException: an exception that it raised.
    """
    loop = asyncio.get_running_loop()
    asked: asyncio.CancelledError | None = None
    ended: asyncio.Future[None] = loop.create_future()
    run = TrioRun(call, lambda: loop.call_soon_threadsafe(ended.set_result, None))
    threading.Thread(target=contextvars.copy_context().run, args=(run.work,), name="sedano-trio", daemon=True).start()
    while not ended.done():
        try:
            await asyncio.wait([ended])
        except asyncio.CancelledError as cancelled:
            asked = cancelled
            run.cancel()
    if run.error is not None:
        raise run.error
    if asked is not None and run.cut:
        raise asked
    return run.value
