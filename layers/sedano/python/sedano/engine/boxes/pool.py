"""The processes of one box in one worker: at most `pool` at once, kept warm between calls and batches, replaced after a death."""

from __future__ import annotations

import atexit
import os
import threading
import time
from typing import Any

from sedano.engine.boxes.calls import CallTurns, request_of, value_of
from sedano.engine.boxes.child import BoxProcess, Log
from sedano.engine.boxes.exchange import exchange
from sedano.engine.task_context import TaskContext, current
from sedano.engine.task_log import TELEMETRY
from sedano.model.boxes import BoxAnswer, BoxPlan, request_line
from sedano.ports import Telemetry

GRACE_S = 0.5
"""How long the idle processes may take to end after their input was closed; then they are killed."""
MOST_LINES = 1_000
"""The most log lines of one call; the others are counted."""


class Pool:
    """Gives calls to processes. Event loops of several threads may use it."""

    def __init__(self, plan: BoxPlan) -> None:
        """Start no process yet; the first call that needs one starts it."""
        self._plan, self._lock, self._owner = plan, threading.Lock(), os.getpid()
        self._idle: list[BoxProcess] = []
        self._called: set[BoxProcess] = set()
        self._turns = CallTurns(plan.pool)
        self._reserved: int | None = None
        atexit.register(self._leave)

    async def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the answer of a process to a call of the running task.

        Raises:
            BoxedError: it answered with an error.
            BoxFailure: it gave no valid answer; it was killed, and the next call gets another process.
        """
        context = current()
        request = request_of(context)
        line = request_line(request, args, kwargs)
        self._begin_anew_after_fork()
        await self._turns.take()
        try:
            answer = await self._answered(line, request.call_id, _log(self._plan, context, TELEMETRY.get()))
        finally:
            self._turns.pass_on()
        return value_of(answer)

    def close(self) -> None:
        """End the idle processes: their input is closed, and their groups are killed after `GRACE_S`."""
        with self._lock:
            children, self._idle = self._idle, []
        if self._owner != os.getpid():
            return
        for child in children:
            child.let_go()
        until = time.monotonic() + GRACE_S
        for child in children:
            while child.status() is None and time.monotonic() < until:
                time.sleep(0.002)
            child.log_rest()
            child.kill()

    def _leave(self) -> None:
        """Kill the processes that still run a call, and end the others, because this process ends."""
        if self._owner == os.getpid():
            for child in [*self._called]:
                child.kill()
        self.close()

    async def _answered(self, line: bytes, call_id: str, log: Log) -> BoxAnswer:
        child, answer = self._fit(), None
        child.log = log
        self._called.add(child)
        try:
            answer = await exchange(self._plan, child, line, call_id)
            if self._reserved is None and self._plan.memory is not None:
                self._reserved = child.reserved()
        finally:
            self._called.discard(child)
            if answer is None or (self._plan.calls_per_child is not None and child.calls >= self._plan.calls_per_child):
                child.kill()
            else:
                with self._lock:
                    self._idle.append(child)
        return answer

    def _fit(self) -> BoxProcess:
        """Return an idle process that can be given a call, the warmest first, or a new one."""
        while True:
            with self._lock:
                child = self._idle.pop() if self._idle else None
            if child is None:
                return BoxProcess(self._plan, self._reserved)
            if child.is_fit():
                return child
            child.kill()

    def _begin_anew_after_fork(self) -> None:
        """Forget the processes after a fork: they belong to the parent process."""
        with self._lock:
            if self._owner != os.getpid():
                for child in self._idle:
                    child.forget()
                self._called.clear()
                self._idle, self._owner = [], os.getpid()


def _log(plan: BoxPlan, context: TaskContext, telemetry: Telemetry | None) -> Log:
    """Return what logs the lines of one call under its task's id."""
    lines = 0

    def log(stream: str, text: str) -> None:
        nonlocal lines
        lines += 1
        if telemetry is None or lines > MOST_LINES:
            return
        about = {"box": plan.name, "stream": stream, "task_id": context.id, "attempt": context.attempt}
        if lines == MOST_LINES:
            telemetry.log("warning", f"this call has logged {MOST_LINES} lines; further lines are not logged", **about)
        else:
            telemetry.log("info", text, **about)

    return log
