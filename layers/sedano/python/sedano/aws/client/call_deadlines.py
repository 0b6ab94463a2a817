"""A client whose calls all end within a deadline, which botocore's own timeouts do not guarantee.

botocore's read timeout is for each byte, a name lookup has no timeout, and each attempt starts the timeouts again, so one call could last
for minutes. Here each call runs on a helper thread, and its caller waits until the deadline (`sedano.ports.deadlines`). A call that has not
ended by then continues in the background until botocore's timeouts end it, and its answer is dropped. Whether the service executed the call
is unknown, as with any lost answer. The breaker of the connection (`sedano.model.connection_breaker`) lets the next call fail at once
instead of waiting as long again.

Only programs of users get such clients; a deployed function is bounded by the timeout of its invocation. If no new thread can start,
because the interpreter is shutting down, the call runs on the caller's own thread.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

from botocore import exceptions
from botocore.exceptions import ClientError, HTTPClientError

from sedano.aws.client.answer_checks import NotAnAnswer, Unanswered, Unmade
from sedano.model.connection_breaker import Connection, admitted, answered, unanswered
from sedano.ports import deadlines

MOST_HELPERS = 64
"""The most calls under way at once, including those whose caller no longer waits."""
IDLE_S = 30.0
"""How long a helper waits for another call before its thread ends."""
UNBOUNDED = frozenset({"can_paginate", "close", "exceptions", "get_paginator", "get_waiter", "meta", "waiter_names"})
"""Methods that are passed on unchanged: they make no request, or many."""
SILENCE = (HTTPClientError, exceptions.ConnectionError, NotAnAnswer, Unanswered)
"""The errors of a call that the service did not answer."""
_ENOUGH = 0.5
"""An unanswered call that had less than this share of the usual time does not count against the connection."""


class BoundedClient:
    """Wraps a botocore client. Thread-safe.

    Args:
        client: the client, or a placeholder that makes one at its first use (`Session.later`).
        service: the name of its service, for errors.
        patience: how many seconds a call has when no earlier deadline is set.
    """

    def __init__(self, client: Any, service: str, patience: float) -> None:
        """Bound the calls of *client*."""
        self._client, self._service, self._patience = client, service, patience
        self._state = Connection()
        self._last = ""
        self._lock = threading.Lock()

    def __getattr__(self, operation: str) -> Any:
        """Return the client's own operation, bounded."""
        if operation in UNBOUNDED:
            return getattr(self._client, operation)

        def call(**parameters: Any) -> Any:
            return self._call(operation, parameters)

        return call

    def _call(self, operation: str, parameters: dict[str, Any]) -> Any:
        began = time.monotonic()
        left = deadlines.left(began)
        seconds = self._patience if left is None else min(left, self._patience)
        seconds += parameters.get("WaitTimeSeconds", 0)
        term = self._admit(began, seconds)
        try:
            answer = _HELPERS.run(lambda: getattr(self._client, operation)(**parameters), seconds)
        except ClientError:
            self._answered(term)
            raise
        except SILENCE as error:
            if not isinstance(error, Unanswered) or time.monotonic() - began >= _ENOUGH * self._patience:
                self._unanswered(term, error)
            raise
        self._answered(term)
        return answer

    def _admit(self, now: float, seconds: float) -> int:
        """Return the term of a call that may go out now."""
        if seconds <= 0:
            raise Unanswered(why="the deadline of the whole call has passed")
        with self._lock:
            goes, self._state = admitted(self._state, now, seconds)
            seen, last = self._state, self._last
        if not goes:
            wait = max(seen.until, seen.probe) - now
            raise Unmade(why=f"{self._service} did not answer ({last}) and is not called again for {wait:.1f} s")
        return seen.term

    def _answered(self, term: int) -> None:
        with self._lock:
            self._state = answered(self._state, term)

    def _unanswered(self, term: int, error: Exception) -> None:
        with self._lock:
            self._state, self._last = unanswered(self._state, term, time.monotonic()), str(error)


class _Job:
    """One call: its function and its result."""

    __slots__ = ("answer", "call", "context", "ended", "error")

    def __init__(self, call: Callable[[], Any]) -> None:
        self.call, self.context = call, copy_context()
        self.answer: Any = None
        self.error: BaseException | None = None
        self.ended = threading.Lock()
        self.ended.acquire()

    def run(self) -> None:
        """Make the call and wake the waiting caller."""
        try:
            self.answer = self.context.run(self.call)
        except BaseException as error:  # noqa: BLE001 - it is raised on the caller's thread
            self.error = error
        self.ended.release()


class _Helper:
    """One thread that makes one call after the other."""

    __slots__ = ("job", "turn")

    def __init__(self, job: _Job) -> None:
        self.job: _Job | None = job
        self.turn = threading.Lock()
        self.turn.acquire()


class _Helpers:
    """The helper threads of this process: one for each call under way, and those that finished a call a short while ago."""

    def __init__(self) -> None:
        self.reset()
        os.register_at_fork(after_in_child=self.reset)

    def reset(self) -> None:
        """Forget all threads: a forked child process has none of them."""
        self._lock = threading.Lock()
        self._idle: deque[_Helper] = deque()
        self._busy = 0

    def run(self, call: Callable[[], Any], seconds: float) -> Any:
        """Make *call* and return its answer; raise `Unanswered` after *seconds*."""
        job = _Job(call)
        if not self._given(job):
            return call()
        if not job.ended.acquire(timeout=seconds):
            raise Unanswered(why=f"none within {seconds:.1f} s")
        if job.error is not None:
            raise job.error
        return job.answer

    def _given(self, job: _Job) -> bool:
        """Hand *job* to a thread; False if no new thread is allowed."""
        with self._lock:
            if self._busy >= MOST_HELPERS:
                raise Unanswered(why=f"{MOST_HELPERS} calls are under way already")
            self._busy += 1
            helper = self._idle.pop() if self._idle else None
        if helper is not None:
            helper.job = job
            helper.turn.release()
            return True
        try:
            threading.Thread(target=self._work, args=(_Helper(job),), name="sedano-call", daemon=True).start()
        except RuntimeError:
            with self._lock:
                self._busy -= 1
            return False
        return True

    def _work(self, helper: _Helper) -> None:
        """Make calls until none arrived for a while."""
        while helper.job is not None:
            helper.job.run()
            helper.job = None
            with self._lock:
                self._busy -= 1
                self._idle.append(helper)
            if not helper.turn.acquire(timeout=IDLE_S) and not self._leave(helper):
                helper.turn.acquire()

    def _leave(self, helper: _Helper) -> bool:
        """Take an idle *helper* off the list; False when a job was given to it meanwhile."""
        with self._lock:
            if helper in self._idle:
                self._idle.remove(helper)
                return True
            return False


_HELPERS = _Helpers()
