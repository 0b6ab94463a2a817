"""A few threads (lanes) that record each outcome as soon as its body has ended, while the next body runs.

A free lane takes the next waiting item; after the last item, the caller's own thread helps until none waits. So fast items cost one
wake-up, and items that wait for a network use all lanes. With no lanes everything runs on the caller's thread, in order: for tests, and for
endpoints that are not safe across threads.

With group commit (`GroupedStream`) a free lane takes all items that wait, for one call. An item never waits for others: only while all
lanes are in a call do several of them wait at once, or while a body computes without a pause.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")
Step = Callable[[], None]


class Lanes:
    """At most *count* calls at once besides the caller's. The threads start with the first item of the first stream, and end when no
    reference to this object is left."""

    __slots__ = ("__weakref__", "_lock", "_started", "_waiting", "count")

    def __init__(self, count: int) -> None:
        """Use *count* threads besides the caller's; 0 uses none."""
        self.count = count
        self._waiting: SimpleQueue[Step | None] = SimpleQueue()
        self._started = False
        self._lock = threading.Lock()

    def stream(self, call: Callable[[T], R]) -> Stream[T, R]:
        """Return a stream that makes one *call* per item."""
        return Stream(call, self)

    def grouped(
        self, call: Callable[[T], R], together: Callable[[Sequence[T]], Sequence[R]], fits: Callable[[T], bool]
    ) -> GroupedStream[T, R]:  # fmt: skip
        """Return a stream that makes a call *together* for the waiting items that *fits* accepts, and one *call* for each other item."""
        return GroupedStream(call, together, fits, self)

    def put(self, step: Step) -> None:
        """Let the next free lane take *step*."""
        if not self._started:
            self._start()
        self._waiting.put(step)

    def help(self) -> None:
        """Take waiting items, on the caller's thread, until none waits."""
        while True:
            try:
                step = self._waiting.get_nowait()
            except Empty:
                return
            if step is not None:
                step()

    def _start(self) -> None:
        with self._lock:
            if not self._started:
                for number in range(self.count):
                    threading.Thread(target=_lane, args=(self._waiting,), name=f"sedano-record-{number}", daemon=True).start()
                    weakref.finalize(self, self._waiting.put, None).atexit = False
                self._started = True


class Stream(Generic[T, R]):
    """Items that are put one by one; the call is made once for each, and the answers are in the order of the items."""

    __slots__ = ("_answers", "_call", "_ended", "_lanes", "_lent")

    def __init__(self, call: Callable[[T], R], lanes: Lanes) -> None:
        """Make *call* for each item, on *lanes* if there are any."""
        self._call = call
        self._lanes = lanes
        self._answers: list[tuple[T, R] | None] = []
        self._ended: SimpleQueue[BaseException | None] = SimpleQueue()
        self._lent = 0

    def put(self, item: T) -> None:
        """Put one item for the next free lane."""
        if self._lanes.count == 0:
            self.put_here(item)
            return
        self._answers.append(None)
        self._lent += 1
        self._lanes.put(partial(self._answer, len(self._answers) - 1, item))

    def put_here(self, item: T) -> None:
        """Put one item whose call does not wait: it is made at once, on the caller's thread."""
        self._answers.append((item, self._call(item)))

    def close(self) -> list[tuple[T, R]]:
        """Wait until all calls were made and return each item with its answer; raise the error of a call."""
        if self._lent:
            self._lanes.help()
            errors = [self._ended.get() for _ in range(self._lent)]
            for error in filter(None, errors):
                raise error
        return [answer for answer in self._answers if answer is not None]

    def _answer(self, number: int, item: T) -> None:
        error: BaseException | None = None
        try:
            self._answers[number] = (item, self._call(item))
        except BaseException as raised:  # noqa: BLE001 - it is raised again on the caller's thread
            error = raised
        self._ended.put(error)


class GroupedStream(Stream[T, R]):
    """A stream whose items are answered together where they wait together."""

    __slots__ = ("_fits", "_lock", "_together", "_waiting")

    def __init__(
        self, call: Callable[[T], R], together: Callable[[Sequence[T]], Sequence[R]], fits: Callable[[T], bool], lanes: Lanes
    ) -> None:  # fmt: skip
        """Answer by *together* the items that *fits* accepts, on *lanes* if there are any, and each other item by *call*."""
        super().__init__(call, lanes)
        self._together, self._fits = together, fits
        self._waiting: deque[tuple[int, T]] = deque()
        self._lock = threading.Lock()

    def put(self, item: T) -> None:
        """Put one item for the next free lane, with those that wait."""
        if self._lanes.count == 0 or not self._fits(item):
            super().put(item)
            return
        self._waiting.append((len(self._answers), item))
        self._answers.append(None)
        self._lent += 1
        self._lanes.put(self._answer_waiting)

    def _answer_waiting(self) -> None:
        """Answer the items that wait; none do if an earlier step has taken the item that this step was for."""
        error: BaseException | None = None
        try:
            with self._lock:
                taken = [self._waiting.popleft() for _ in range(len(self._waiting))]
            if taken:
                for (number, item), answer in zip(taken, self._together([item for _, item in taken]), strict=True):
                    self._answers[number] = item, answer
        except BaseException as raised:  # noqa: BLE001 - it is raised again on the caller's thread
            error = raised
        self._ended.put(error)


def _lane(waiting: SimpleQueue[Step | None]) -> None:
    while (step := waiting.get()) is not None:
        step()
        del step  # it holds the lanes, which must not live as long as this thread
