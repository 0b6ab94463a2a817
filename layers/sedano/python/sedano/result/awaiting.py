"""Waiting on an event loop: what looks, and may read, is on a thread for the length of one look; the pauses are the loop's own.

So a wait that is cancelled, or whose time is over, is over: at most one look goes on, and nobody polls for whoever has gone. However many
wait at once, none of them has a thread to itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Generator, Iterator
from typing import Any, NamedTuple, TypeVar, cast

from sedano.result.waiting import Pause, Waits

R = TypeVar("R")
T = TypeVar("T")


class Ended(NamedTuple):
    """A wait is over, and ended with *value*."""

    value: Any


async def finished(steps: Waits[R]) -> R:
    """Return what *steps* end with."""
    while not isinstance(step := await asyncio.to_thread(_step, steps), Ended):
        await step.clock.sleep_async(step.seconds)
    return cast("R", step.value)


async def arriving(steps: Iterator[Pause | T]) -> AsyncIterator[T]:
    """Yield what *steps* yield, but for their pauses."""
    while not isinstance(step := await asyncio.to_thread(_step, steps), Ended):
        if isinstance(step, Pause):
            await step.clock.sleep_async(step.seconds)
        else:
            yield step


def _step(steps: Iterator[T] | Generator[T, None, Any]) -> T | Ended:
    """Go on to the next pause or value, or to the end."""
    try:
        return next(steps)
    except StopIteration as over:  # which no future can carry
        return Ended(over.value)
