"""Parallel calls: the calls of one batch are made together, on a few threads (lanes) that live as long as their owner.

A batch of one stays on the caller's thread. Calls on the same item stay in one lane, in order: the caller gives each
item a name, and equal names never overtake each other (moto is not atomic across threads, and a service need not keep
the order of two calls).
"""

from __future__ import annotations

import queue
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

In = TypeVar("In")
Out = TypeVar("Out")

Work = tuple[Callable[[], None], queue.SimpleQueue[None]]


class ParallelCalls:
    """At most *number* calls at a time. Threads start with the first batch that needs them; 1 means none."""

    __slots__ = ("__weakref__", "_lock", "_started", "_waiting", "number")

    def __init__(self, number: int) -> None:
        """Allow *number* calls at a time."""
        self.number = number
        self._waiting: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._started = 0
        self._lock = threading.Lock()

    def each(self, call: Callable[[In], Out], items: Sequence[In], names: Sequence[str]) -> list[Out]:
        """Return `call(item)` for each item, in order; the first exception is raised when all calls have ended."""
        shares = self._shares(names)
        if len(shares) <= 1:
            return [call(item) for item in items]
        answers: list[Any] = [None] * len(items)
        errors: list[BaseException] = []
        steps = [_step(call, items, share, answers, errors) for share in shares]
        self._start(len(shares) - 1)
        ended: queue.SimpleQueue[None] = queue.SimpleQueue()
        for step in steps[1:]:
            self._waiting.put((step, ended))
        steps[0]()
        for _ in steps[1:]:
            ended.get()
        if errors:
            raise errors[0]
        return answers

    def _shares(self, names: Sequence[str]) -> list[list[int]]:
        together: dict[str, list[int]] = {}
        for position, name in enumerate(names):
            together.setdefault(name, []).append(position)
        shares: list[list[int]] = [[] for _ in range(min(self.number, len(together)))]
        for turn, positions in enumerate(together.values()):
            shares[turn % len(shares)].extend(positions)
        return shares

    def _start(self, wanted: int) -> None:
        with self._lock:
            while self._started < min(wanted, self.number - 1):
                self._started += 1
                threading.Thread(target=_lane, args=(self._waiting,), name=f"sedano-lane-{self._started}", daemon=True).start()
                weakref.finalize(self, self._waiting.put, None).atexit = False  # the thread ends with its owner


def _lane(waiting: queue.SimpleQueue[Work | None]) -> None:
    while (work := waiting.get()) is not None:
        step, ended = work
        step()
        ended.put(None)
        del work, step, ended  # they hold the owner, which must not live as long as this thread


def _step(
    call: Callable[[In], Out], items: Sequence[In], share: list[int], answers: list[Any], errors: list[BaseException]
) -> Callable[[], None]:
    def step() -> None:
        try:
            for position in share:
                answers[position] = call(items[position])
        except BaseException as error:  # noqa: BLE001 - it is raised again on the caller's thread
            errors.append(error)

    return step
