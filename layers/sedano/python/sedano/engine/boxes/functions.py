"""The calls of a box whose program is a Lambda function: each on its own thread, because the port waits for the answer."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from sedano.engine.boxes.calls import CallTurns, request_of, value_of
from sedano.engine.task_context import current
from sedano.errors import BoxCrashed, BoxReplyInvalid, BoxTimeout, TooLarge
from sedano.model.boxes import BoxAnswer, BoxPlan, read_payload, request_line
from sedano.ports.functions import CalledFunctions

MOST_PAYLOAD = 6_291_456
"""The most bytes of a request to a Lambda function."""
ENDINGS = {"timeout": BoxTimeout, "crash": BoxCrashed}


class FunctionCalls:
    """Calls the function of one box, at most `pool` times at once in one worker."""

    def __init__(self, plan: BoxPlan, functions: CalledFunctions) -> None:
        """Call nothing yet."""
        self._plan, self._functions, self._turns = plan, functions, CallTurns(plan.pool)

    async def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return what the function answers, for the running task. A call that is cancelled keeps its turn until the function ends.

        Raises:
            BoxedError: it answered with an error, or raised one.
            BoxFailure: it gave no valid answer.
            TooLarge: the arguments have more bytes than a call of a function takes.
            Unavailable: the call was throttled, or the service is out of reach.
        """
        request = request_of(current())
        payload = request_line(request, args, kwargs)
        if len(payload) > MOST_PAYLOAD:
            raise TooLarge(f"box {self._plan.name}: a call has {len(payload)} bytes, more than {MOST_PAYLOAD}; pass the place of the data")
        await self._turns.take()
        return value_of(await self._answered(payload, request.call_id))

    def _answered(self, payload: bytes, call_id: str) -> asyncio.Future[BoxAnswer]:
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[BoxAnswer] = loop.create_future()

        def settle(settled: Callable[[Any], None], what: Any) -> None:
            if not answered.done():
                settled(what)

        def run() -> None:
            try:
                step = partial(settle, answered.set_result, self._answer(payload, call_id))
            except Exception as error:  # noqa: BLE001 - whatever the call raised is raised where it is awaited
                step = partial(settle, answered.set_exception, error)
            finally:
                self._turns.pass_on()
            with suppress(RuntimeError):  # the loop has ended, and nothing awaits the answer
                loop.call_soon_threadsafe(step)

        threading.Thread(target=run, name=f"box-{self._plan.name}", daemon=True).start()
        return answered

    def _answer(self, payload: bytes, call_id: str) -> BoxAnswer:
        plan = self._plan
        called = self._functions.call(plan.function or plan.name, payload, plan.timeout)
        try:
            answer = read_payload(called.payload, call_id, failed=called.failed)
        except BoxReplyInvalid as wrong:
            raise BoxReplyInvalid(f"box {plan.name}: the payload {wrong}") from None
        ending = ENDINGS.get(answer.ending)
        if ending is not None and answer.error is not None:
            raise ending(f"box {plan.name}: the function {plan.function}: {answer.error.message}"[:400])
        return answer
