"""A warning when the body of an `async def` task blocks the event loop that it shares with the others of its batch.

A body that calls `time.sleep`, or a client that is not async, blocks all of them and their time limits. Each step of a body, from one
`await` to the next, is timed with the monotonic clock. Tasks that a body starts with `create_task` are not timed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from typing import Any

from sedano.engine.task_context import TaskContext
from sedano.engine.worker.body_results import ending, failed
from sedano.model.ledger.outcome import Run
from sedano.ports import Clock, Telemetry

BLOCKED_S = 1.0
"""The longest step (s) that is not logged; the longest step of a body is logged once per run."""
BLOCKS = "an async task blocked the event loop, and all others of its batch stopped; await slow calls, or use asyncio.to_thread(…)"


class Stepped:
    """Awaits a body, returns its run, and times its steps."""

    __slots__ = ("_call", "_clock", "longest")

    def __init__(self, call: Callable[[], Awaitable[Any]], clock: Clock) -> None:
        """Await the answer of *call*. It is called at the first step, so that no code of the library can fail between the coroutine and
        that step."""
        self._call, self._clock, self.longest = call, clock, 0.0

    def __await__(self) -> Generator[Any, Any, Run]:
        """Await the body and return its run; awaited objects, thrown exceptions and a cancellation pass unchanged."""
        steps: Generator[Any, Any, Any] | None = None
        raised: BaseException | None = None
        now = self._clock.monotonic
        while True:
            began = now()
            try:
                if steps is None:
                    steps = self._call().__await__()
                waits_for = next(steps) if raised is None else steps.throw(raised)
            except StopIteration as ended:
                return Run(ended.value)
            except Exception as error:  # noqa: BLE001 - a body may raise anything; its answer is a value
                return failed(error)
            except BaseExceptionGroup as several:
                raise ending(several) from several
            finally:
                self.longest = max(self.longest, now() - began)
            raised = None
            try:
                yield waits_for
            except BaseException as error:  # noqa: BLE001 - also a cancellation: it is the body's to handle
                raised = error

    def tell(self, context: TaskContext, telemetry: Telemetry) -> None:
        """Log the longest step, if it was too long."""
        if self.longest > BLOCKED_S:
            telemetry.log(
                "warning", BLOCKS, task=context.task, task_id=context.id, attempt=context.attempt, trace_id=context.span.trace_id,
                seconds=round(self.longest, 1),
            )  # fmt: skip
