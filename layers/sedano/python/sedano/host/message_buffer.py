"""The bounded buffer between the receivers and the lanes of a process, which is emptied at once when the process stops.

A lane takes a *unit*: one message, or, from a queue that keeps order, the messages of one key that were received together.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence

from sedano.host.gathered_calls import GATHER_S, Wait
from sedano.model.prefetch import asks, waits
from sedano.ports import Delivery

Unit = Sequence[Delivery]
WAKE_S = 5.0
"""The interval at which a waiting loop shows that it is alive, in seconds."""


def _nothing() -> None:
    """Show nothing."""


def _always() -> bool:
    return True


def units(deliveries: Iterable[Delivery]) -> list[Unit]:
    """Return the units of one receipt, in its order."""
    found: dict[str, list[Delivery]] = {}
    for delivery in deliveries:
        alone = delivery.serial_key is None
        found.setdefault(f"message {delivery.message_id}" if alone else f"key {delivery.serial_key}", []).append(delivery)
    return list(found.values())


class MessageBuffer:
    """The messages of one process that wait for a lane, for *concurrency* lanes and queues that return *at_once* messages at most."""

    def __init__(
        self, concurrency: int, at_once: int, wait: Wait = threading.Condition.wait, are_short: Callable[[], bool] = _always
    ) -> None:
        """Begin empty. *wait* waits for more bodies to end, at most for so many seconds; *are_short*: whether calls take less than that."""
        self._concurrency, self._at_once, self._wait, self._are_short = concurrency, at_once, wait, are_short
        self._pays, self._ended, self._working = False, 0, 0
        self._waiting: deque[Unit] = deque()
        self._held = self._asked = 0
        self._most: Mapping[str, int] = {}
        self._of_queue = Counter[str]()
        self._is_open = True
        lock = threading.Lock()
        self._filled, self._freed, self._enough = threading.Condition(lock), threading.Condition(lock), threading.Condition(lock)

    def ask(self, beat: Callable[[], None] = _nothing, queue: str = "") -> int:
        """Wait until a body of *queue* could begin, and return how many messages to request; 0: the process stops. *beat* is called while
        it waits.

        While calls are short and other lanes work, it waits up to `GATHER_S` for more of them to end, so that one call is for several.
        It does so only if several have ended since the last request, and after a wait only if more ended during that one.
        """
        with self._freed:
            before, waited = 1, False
            while self._is_open:
                found = self._due(queue)
                if found and (waited or not self._waits(found)):
                    self._pays, self._ended = self._ended > before if self._ended else self._pays, 0
                    self._asked += found
                    self._of_queue[queue] += found
                    return found
                waited = found > 0
                if waited:
                    before = self._ended
                    self._wait(self._enough, GATHER_S)
                else:
                    beat()
                    self._freed.wait(WAKE_S)
        return 0

    def _waits(self, found: int) -> bool:
        return self._pays and self._ended > 0 and self._are_short() and waits(self._working, found, self._at_once)

    def _due(self, queue: str) -> int:
        """Return how many messages of *queue* may be requested now. The caller has the lock."""
        found = asks(self._concurrency, self._held, self._asked, self._at_once)
        return min(found, max(0, self._most[queue] - self._of_queue[queue])) if queue in self._most else found

    def arrived(self, asked: int, deliveries: Sequence[Delivery], queue: str = "") -> Sequence[Delivery]:
        """Take the messages that *queue* returned for a request of *asked* messages; return those that must go back, because the process
        stops or because the queue may now have fewer bodies than at the time of the request.
        """
        with self._filled:
            self._asked -= asked
            self._of_queue[queue] -= asked
            if not self._is_open:
                return deliveries
            room = max(0, self._most[queue] - self._of_queue[queue]) if queue in self._most else len(deliveries)
            taken, back = deliveries[:room], deliveries[room:]
            self._of_queue[queue] += len(taken)
            self._held += len(taken)
            new = units(taken)
            self._waiting.extend(new)
            self._filled.notify(len(new))
            self._freed.notify_all()
        return tuple(back)

    def resize(self, concurrency: int, at_once: int, most: Mapping[str, int] | None = None) -> None:
        """Receive for *concurrency* lanes from now on, at most *at_once* messages a request; waiting lanes check again whether they stay.
        *most*: the limits of bodies at once of some queues, by the queue's key; None leaves them unchanged.
        """
        with self._filled:
            self._concurrency, self._at_once, self._most = concurrency, at_once, self._most if most is None else most
            self._filled.notify_all()
            self._freed.notify_all()

    def take(self, beat: Callable[[], None] = _nothing, stays: Callable[[], bool] = _always) -> Unit | None:
        """Wait for a unit, and return it; None: the process stops, or the lane does not stay. *beat* is called while it waits."""
        with self._filled:
            while self._is_open and not self._waiting and stays():
                beat()
                self._filled.wait(WAKE_S)
            if not self._waiting or not stays():
                return None
            self._working += 1
            return self._waiting.popleft()

    def done(self, unit: Unit, queue: str = "") -> None:
        """Note that *unit* of *queue*, which a lane took, is finished or has gone back."""
        with self._freed:
            self._held -= len(unit)
            self._of_queue[queue] -= len(unit)
            self._working, self._ended = self._working - 1, self._ended + 1
            self._freed.notify_all()
            if not waits(self._working, self._concurrency - self._held, self._at_once):
                self._enough.notify_all()

    @property
    def is_taken_soon(self) -> bool:
        """Whether a message waits that a free lane is about to take."""
        return bool(self._waiting) and self._working < self._concurrency

    def waiting(self) -> list[Delivery]:
        """Return the messages that wait for a lane."""
        with self._filled:
            return [delivery for unit in self._waiting for delivery in unit]

    def close(self) -> list[Delivery]:
        """Accept no more messages, and return the messages that wait: they must go back."""
        with self._filled:
            self._is_open = False
            left = [delivery for unit in self._waiting for delivery in unit]
            self._waiting.clear()
            self._filled.notify_all()
            self._freed.notify_all()
        return left
