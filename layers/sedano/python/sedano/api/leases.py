"""Locks and leadership: for a while, one holder at a time.

    with app.lock("report/2026", duration=30) as lease:
        build(lease.token)          # pass the token with each write (`sedano.guards`)

    async with app.lock("report/2026", duration=30, timeout=10):
        ...

    leader = app.leader("scheduler")
    if term := leader.lead():       # None while another process leads
        schedule(term.token)

A lease expires, so a dead holder does not block others for long. It also expires for a holder that is only paused, and such a holder cannot
notice it in time. `Lease.valid()` returns what the holder may assume; only a token that the resource checks (`sedano.guards`) is proof. The
rule and its reasons: `sedano.model.leases`.
"""

from __future__ import annotations

import os
import socket
import threading
from types import TracebackType
from typing import Any, Protocol, Self

from sedano.engine.leases import Acquisition, Leasing
from sedano.engine.publisher.publisher import Outlet
from sedano.engine.task_context import CURRENT, TaskContext, must_not_stop_loop
from sedano.errors import LeaseLost, LeaseTaken, OptionError, Unavailable
from sedano.model import leases as rule
from sedano.model.leases import GUARD_MS, LONGEST_MS, SHORTEST_MS, Term

LONGEST_NAME = 500
DURATION_S = 30.0
"""The default duration (s) of a lease that is taken outside a task."""


class LockApp(Protocol):
    """The part of an app that a lock needs."""

    @property
    def outlet(self) -> Outlet:
        """The publisher."""


class Lease:
    """A lease that this process has taken. It belongs to the invocation that took it: after its task has ended, and after a freeze, it is
    void.

    `token` increases with every holder. Pass it with each write, so that the resource can check it.
    """

    __slots__ = ("_context", "_leasing", "_term")

    def __init__(self, leasing: Leasing, term: Term) -> None:
        """Hold *term* for the task that is running here, if any."""
        self._leasing, self._term = leasing, term
        self._context: TaskContext | None = CURRENT.get()

    @property
    def name(self) -> str:
        """The lease's name."""
        return self._term.name

    @property
    def token(self) -> int:
        """The fencing token."""
        return self._term.token

    @property
    def wanted(self) -> bool:
        """Whether another process had requested the lease when it was taken or last renewed; then release it when you can."""
        return bool(self._term.wanted)

    @property
    def remaining(self) -> float:
        """For how many more seconds you may assume that no other process holds the lease; 0 if it is void."""
        return rule.remaining(self._term, self._leasing.moment()) / 1000 if self.valid() else 0.0

    def valid(self) -> bool:
        """Return whether you may assume that no other process holds it. After a pause only a guard is sure (`sedano.guards`)."""
        return not self._void() and self._leasing.believes(self._term)

    def check(self) -> None:
        """Raise `LeaseLost` if the lease is no longer valid; call this where your work can stop."""
        if not self.valid():
            raise LeaseLost(f"lease {self.name!r}: it has expired, or the process was frozen, or the task that took it has ended")

    def renew(self) -> None:
        """Restart the lease's duration, with one write. If this succeeds, even after a freeze, no other process held the lease in between.

        Raises:
            LeaseLost: another process holds it, or it was released, or the task that took it has ended.
            Unavailable: the store did not answer; the lease is valid for as long as before.
        """
        renewed = None if self._void() else self._leasing.renew(self._term)
        if renewed is None:
            raise LeaseLost(f"lease {self.name!r}: it is no longer held")
        self._term = renewed

    def release(self) -> bool:
        """Release the lease; return whether it was still held. It is not valid from now on. Releasing twice is harmless."""
        return self._leasing.release(self._term) is not None

    def proof(self) -> Any:
        """Return the condition "I still hold it" as one item of DynamoDB's TransactWriteItems (`sedano.guards.in_transaction`)."""
        return self._leasing.ports.leases.proof(self._term)

    def __enter__(self) -> Self:
        """Hold it for the length of a block."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Give it back.

        Raises:
            LeaseLost: the block outlived the lease and another process has taken it: both may have worked at the same time.
        """
        try:
            ours = self.release()
        except Unavailable as away:
            self._leasing.ports.telemetry.log("warning", "lease not released; it will expire", lease=self.name, error=str(away))
            return
        if not ours and error is None:
            raise LeaseLost(f"lease {self.name!r}: the block outlived it; renew it at checkpoints or take it for longer")

    def _void(self) -> bool:
        context = self._context
        return context is not None and (context.over or self._leasing.ports.clock.now() >= context.deadline)


class Lock:
    """A lock, made by `app.lock`: one holder at a time. A lock object serves one block at a time."""

    def __init__(self, app: LockApp, name: str, *, duration: float | None, timeout: float | None, until_deadline: bool, fair: bool) -> None:
        """See `sedano.app.Sedano.lock`."""
        if duration is not None and until_deadline:
            raise OptionError("until_deadline: a lock lasts for a duration or until the deadline, not both")
        check_options(name, duration)
        self._app, self._name, self._duration, self._timeout = app, name, duration, timeout
        self._until_deadline, self._fair = until_deadline, fair
        self._held: Lease | None = None

    def acquire(self) -> Lease:
        """Take the lock, waiting up to its timeout.

        Raises:
            LeaseTaken: another process held it until the timeout.
            Unavailable: the store did not answer.
            WaitInsideLoop: an event loop runs here, and the holder of the lock may need it to continue; see `acquire_async`.
        """
        must_not_stop_loop("`async with app.lock(…)`, or `await lock.acquire_async()`; `lock.try_acquire()` does not wait")
        return self._lease(self._waiting().wait())

    def try_acquire(self) -> Lease | None:
        """Take the lock if it is free; None when it is not."""
        try:
            return self._lease(self._waiting(0.0).wait())
        except LeaseTaken:
            return None

    async def acquire_async(self) -> Lease:
        """Take the lock without blocking the event loop; raises as `acquire` does. A caller that is cancelled while it waits does not hold
        it."""
        import asyncio

        waiting = self._waiting()
        while True:
            attempt = asyncio.ensure_future(asyncio.to_thread(waiting.step))
            try:
                found = await asyncio.shield(attempt)
            except asyncio.CancelledError:
                if isinstance(taken := (await asyncio.gather(attempt, return_exceptions=True))[0], Term):
                    await asyncio.to_thread(self._lease(taken).release)
                raise
            if isinstance(found, Term):
                return self._lease(found)
            await self._app.outlet.ports.clock.sleep_async(found)

    def __enter__(self) -> Lease:
        """Take the lock for the length of a block."""
        self._held = self.acquire()
        return self._held

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Release it; raise `LeaseLost` when the block outlived it and another process has taken it."""
        held, self._held = self._held, None
        if held is not None:
            held.__exit__(kind, error, trace)

    async def __aenter__(self) -> Lease:
        """Take the lock for the length of a block, without blocking the event loop."""
        self._held = await self.acquire_async()
        return self._held

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Release it; raise `LeaseLost` when the block outlived it and another process has taken it."""
        held, self._held = self._held, None
        if held is not None:
            import asyncio

            await asyncio.to_thread(held.__exit__, kind, error, trace)

    def _lease(self, term: Term) -> Lease:
        return Lease(self._app.outlet.leasing, term)

    def _waiting(self, timeout: float | None = None) -> Acquisition:
        leasing, context = self._app.outlet.leasing, CURRENT.get()
        limit = self._timeout if timeout is None else timeout
        if limit is None and context is not None:
            limit = max(0.0, context.deadline - leasing.ports.clock.now() - GUARD_MS / 1000)
        return Acquisition(leasing, f"lock/{self._name}", holder(context), self._milliseconds, limit, fair=self._fair)

    def _milliseconds(self) -> int:
        """Return the duration, computed at each attempt, because the remaining time of an invocation decreases during the wait."""
        context = CURRENT.get()
        if self._until_deadline and context is None:
            raise OptionError("until_deadline: a program outside a task has no deadline; give a duration")
        if self._duration is not None or context is None:
            return round((self._duration or DURATION_S) * 1000)
        left = context.deadline - self._app.outlet.ports.clock.now()
        return max(SHORTEST_MS, round(left * 1000) + GUARD_MS)


class Leader:
    """Leadership under one name, made by `app.leader`. Keep the object: it remembers its term from one call to the next."""

    def __init__(self, app: LockApp, name: str, duration: float) -> None:
        """See `sedano.app.Sedano.leader`."""
        check_options(name, duration)
        self._app, self._name = app, f"leader/{name}"
        self._lock = threading.Lock()
        self._duration = round(duration * 1000)
        self._term: Term | None = None

    def lead(self) -> Lease | None:
        """Become the leader or stay it; return the term, or None while another process leads. Call it before each round of work.

        Costs one write when the term begins or half of it has passed, and none in between; a read and no write while another process leads.
        """
        with self._lock:
            self._term = term = self._next(self._app.outlet.leasing, self._term)
        return Lease(self._app.outlet.leasing, term) if term is not None else None

    def resign(self) -> None:
        """Let another process lead at once; does nothing if this process does not lead."""
        with self._lock:
            term, self._term = self._term, None
        if term is not None:
            self._app.outlet.leasing.release(term)

    def who(self) -> tuple[str, int] | None:
        """Return the last leader and its term (the token), with one read; None if no process has led yet."""
        record = self._app.outlet.leasing.observe([self._name])[self._name].record
        return (record.owner, record.token) if record is not None and record.held else None

    def _next(self, leasing: Leasing, term: Term | None) -> Term | None:
        if term is not None and (not leasing.believes(term) or rule.remaining(term, leasing.moment()) * 2 < term.duration):
            term = leasing.renew(term)
        if term is None:
            found = leasing.attempt(self._name, holder(CURRENT.get()), self._duration)
            term = found if isinstance(found, Term) else None
        return term


def check_options(name: object, duration: float | None) -> None:
    """Raise `OptionError` when a lease cannot have this name or last for this many seconds."""
    if not isinstance(name, str) or not 1 <= len(name) <= LONGEST_NAME:
        raise OptionError(f"name: {name!r:.80} is not a text of 1 to {LONGEST_NAME} characters")
    if duration is not None and not SHORTEST_MS <= duration * 1000 <= LONGEST_MS:
        raise OptionError(f"duration: {duration} s; it lasts from {SHORTEST_MS // 1000} s to a day")


def holder(context: TaskContext | None) -> str:
    """Return the holder as shown to people: its machine, its process, its task. No decision depends on it."""
    return f"{socket.gethostname()}.{os.getpid()}" + (f" {context.task} {context.id}" if context is not None else "")
