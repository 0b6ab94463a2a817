"""The parts of every call of a box, to a process or a function: its request, its turn, its value."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from typing import Any

from sedano.engine.task_context import TaskContext
from sedano.errors import BoxedError
from sedano.model.boxes import BoxAnswer, BoxRequest

_Waiting = tuple[asyncio.AbstractEventLoop, "asyncio.Future[None]"]


def request_of(context: TaskContext) -> BoxRequest:
    """Return the request of the running task, with a random id of its own."""
    return BoxRequest(
        call_id=os.urandom(8).hex(), task=context.task, task_id=context.id, attempt=context.attempt, fence=context.fence,
        deadline=context.deadline, traceparent=context.traceparent,
    )  # fmt: skip


def value_of(answer: BoxAnswer) -> Any:
    """Return the value of an answer.

    Raises:
        BoxedError: the answer is an error.
    """
    if answer.error is not None:
        raise BoxedError(answer.error.type_name, answer.error.message, answer.error.traceback, retry=answer.error.retry)
    return answer.value


class CallTurns:
    """A limit of the calls at once in one process; the others wait, in order. Event loops of several threads may use it."""

    def __init__(self, at_once: int) -> None:
        """Begin with no call."""
        self._at_once, self._lock, self._owner = at_once, threading.Lock(), os.getpid()
        self._busy = 0
        self._waiting: deque[_Waiting] = deque()

    async def take(self) -> None:
        """Wait until fewer than `at_once` calls run."""
        with self._lock:
            self._begin_anew_after_fork()
            if self._busy < self._at_once:
                self._busy += 1
                return
            loop = asyncio.get_running_loop()
            asked: asyncio.Future[None] = loop.create_future()
            self._waiting.append((loop, asked))
        try:
            await asked
        except BaseException:
            if asked.done() and not asked.cancelled():  # the turn was given to a call that was cancelled meanwhile
                self.pass_on()
            raise

    def pass_on(self) -> None:
        """Give this turn to the call that has waited longest, or return it."""
        while True:
            with self._lock:
                if not self._waiting:
                    self._busy -= 1
                    return
                loop, asked = self._waiting.popleft()
            try:
                loop.call_soon_threadsafe(self._give, asked)
            except RuntimeError:  # that loop has ended, and its call with it
                continue
            return

    def _give(self, asked: asyncio.Future[None]) -> None:
        if asked.done():
            self.pass_on()
        else:
            asked.set_result(None)

    def _begin_anew_after_fork(self) -> None:
        if self._owner != os.getpid():
            self._busy, self._owner = 0, os.getpid()
            self._waiting.clear()
