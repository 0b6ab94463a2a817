"""Waiting on an event loop: each look, which may read, runs on a thread; the loop itself makes the pauses.

So a wait ends when it is cancelled or times out: at most one look continues, and no polling goes on for a caller that has gone. However
many wait at once, none of them has a thread to itself; and the records that they request during one read are read together by the next.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Generator, Sequence
from typing import Any, NamedTuple, TypeVar, cast

from sedano.errors import Unavailable
from sedano.model.ledger.records import TaskRecord
from sedano.result.waits import READ_AT_ONCE, PollPause, ResultOutlet, Steps, Waits, Wanted, read

R = TypeVar("R")
T = TypeVar("T")
Found = dict[str, TaskRecord]


class Ended(NamedTuple):
    """A wait is over, and ended with *value*."""

    value: Any


async def finished(steps: Waits[R]) -> R:
    """Return the final value of *steps*."""
    answer = None
    while not isinstance(step := await asyncio.to_thread(_step, steps, answer), Ended):
        answer = await _taken(step)
    return cast("R", step.value)


async def arriving(steps: Steps[T]) -> AsyncIterator[T]:
    """Yield the values of *steps*, without their pauses and read requests."""
    answer = None
    while not isinstance(step := await asyncio.to_thread(_step, steps, answer), Ended):
        if isinstance(step, PollPause | Wanted):
            answer = await _taken(step)
        else:
            yield step
            answer = None


def _step(steps: Generator[T, Any, Any], answer: Found | None) -> T | Ended:
    """Continue to the next pause or value, or to the end."""
    try:
        return steps.send(answer)
    except StopIteration as over:  # which no future can carry
        return Ended(over.value)


async def _taken(step: PollPause | Wanted) -> Found | None:
    if isinstance(step, PollPause):
        await step.clock.sleep_async(step.seconds)
        return None
    place = asyncio.get_running_loop(), step.outlet
    return await _DESKS.setdefault(place, Desk(*place)).read(step.ids)


class Desk:
    """The shared reader of the waits on one loop: one read at a time; the next reads everything that was requested meanwhile."""

    def __init__(self, loop: asyncio.AbstractEventLoop, outlet: ResultOutlet) -> None:
        """Read records through *outlet* for the waits on *loop*."""
        self._loop, self._outlet = loop, outlet
        self._turn = asyncio.Lock()
        self._open = set[str]()
        self._next: asyncio.Task[Found] | None = None
        self._reading = 0

    async def read(self, ids: Sequence[str]) -> Found:
        """Return the records of *ids*, and of others; raise the error of reading these alone."""
        if self._next is None or self._next.done() or len(self._open) + len(ids) > READ_AT_ONCE:
            self._open = set()
            self._next = self._loop.create_task(self._together(self._open))
            self._next.add_done_callback(self._done)
            self._reading += 1
        self._open.update(ids)
        try:
            return await asyncio.shield(self._next)
        except Unavailable:
            raise
        except Exception:  # noqa: BLE001 - what is wrong with what another wants is nothing to this one
            return await asyncio.to_thread(read, self._outlet, ids)

    async def _together(self, ids: set[str]) -> Found:
        async with self._turn:
            if self._open is ids:
                self._next = None
            return await asyncio.to_thread(read, self._outlet, list(ids))

    def _done(self, task: asyncio.Task[Found]) -> None:
        """Clean up after the last reader; the caller that wanted *task* may have gone before it failed."""
        self._reading -= 1
        if not self._reading:
            _DESKS.pop((self._loop, self._outlet), None)
        if not task.cancelled():
            task.exception()


_DESKS: dict[tuple[asyncio.AbstractEventLoop, ResultOutlet], Desk] = {}
