"""One event loop for the life of a process, which the `async def` bodies of all its workers share.

So a client that a body opened can be used by the next one, and a pool of connections is one pool. A process that stops cancels the bodies
on the loop: a body may clean up, and its message goes back. Loaded only if a task is async; on Lambda each batch has its own loop.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence

from sedano.engine.batch import Batch, Ran
from sedano.engine.task_context import TaskContext
from sedano.engine.worker.body_preparation import Ready
from sedano.engine.worker.event_loop import all_of
from sedano.engine.worker.execution import Execution, Late

BEAT_S = 1.0


def _nothing() -> None:
    """Show nothing."""


class StandingLoop:
    """An event loop on its own thread."""

    def __init__(self, beat: Callable[[], None] = _nothing) -> None:
        """Start it. *beat* is called on it each second, unless a body blocks the loop."""
        self._loop = asyncio.new_event_loop()
        self._cut = asyncio.Event()
        self._thread = threading.Thread(target=self._loop.run_forever, name="sedano-event-loop", daemon=True)
        self._thread.start()
        self._beat = beat
        self._loop.call_soon_threadsafe(self._turn)

    def _turn(self) -> None:
        self._beat()
        self._loop.call_later(BEAT_S, self._turn)

    def run_together(self, waiting: Sequence[Ready], execution: Execution, batch: Batch, finished: Callable[[Ran], None]) -> list[Late]:
        """Run the bodies of one batch beside those of others, and wait for them: a `sedano.engine.worker.execution.RunLoop`."""
        return asyncio.run_coroutine_threadsafe(all_of(waiting, execution, batch, finished, self._cut), self._loop).result()

    def cut(self) -> None:
        """Cancel the running bodies, and those that would begin."""
        self._loop.call_soon_threadsafe(self._cut.set)

    def end_revoked(self, context: TaskContext) -> bool:
        """Cancel the body of *context*, whose task was revoked; return False for a body that is not async."""
        cancel = context.cancel
        if cancel is None:
            return False
        context.revoked = True
        self._loop.call_soon_threadsafe(cancel)
        return True

    def close(self) -> None:
        """End the loop; no body runs on it any more."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
