"""Lanes: a few threads that record each outcome as soon as its body ended, while the next body runs already.

With no lanes everything runs on the caller's thread, in order: for tests, and for endpoints that are not safe across threads.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Lanes:
    """At most *count* calls under way at once."""

    __slots__ = ("_pool", "count")

    def __init__(self, count: int) -> None:
        """Use *count* threads besides the caller's; 0 uses none."""
        self.count = count
        self._pool = ThreadPoolExecutor(count, "sedano-lane") if count else None

    def stream(self, call: Callable[[T], R]) -> Stream[T, R]:
        """Return a stream that makes one *call* an item, as soon as a lane is free."""
        return Stream(call, self._pool, self.count)


class Stream(Generic[T, R]):
    """Items handed over one by one, each called for as soon as a lane is free; the answers come in the order of the items."""

    __slots__ = ("_answers", "_call", "_count", "_drains", "_free", "_lock", "_pool", "_waiting")

    def __init__(self, call: Callable[[T], R], pool: ThreadPoolExecutor | None, lanes: int) -> None:
        """Make *call* for each item on *pool*, at most *lanes* at once; without a pool on the caller's thread."""
        self._call = call
        self._pool = pool
        self._free = lanes
        self._count = 0
        self._lock = threading.Lock()
        self._waiting: deque[tuple[int, T]] = deque()
        self._answers: dict[int, tuple[T, R]] = {}
        self._drains: list[Future[None]] = []

    def put(self, item: T) -> None:
        """Hand over one item."""
        if self._pool is None:
            self._answers[len(self._answers)] = (item, self._call(item))
            return
        with self._lock:
            self._waiting.append((self._count, item))
            self._count += 1
            starts = self._free > 0
            self._free -= starts
        if starts:
            self._drains.append(self._pool.submit(self._drain))

    def close(self) -> list[tuple[T, R]]:
        """Wait until every item was called for and return each with its answer; raise what a call raised."""
        for drain in self._drains:
            drain.result()
        return [self._answers[n] for n in sorted(self._answers)]

    def _drain(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._free += 1
                    return
                number, item = self._waiting.popleft()
            self._answers[number] = (item, self._call(item))
