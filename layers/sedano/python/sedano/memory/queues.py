"""SQS queues over dicts: delay, visibility, receipts, redrive to dead letters. Delivery is deterministic: the oldest visible message first.
On a FIFO queue, no message of a key is delivered while another one of the key is in flight, and a copy within five minutes is discarded.
SQS may deliver twice or out of order; here a test causes that on purpose, with `duplicate` and by moving the clock.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sedano.errors import SedanoError
from sedano.model.budgets import Load
from sedano.model.order import MAX_RECEIVES
from sedano.model.queues import HOLD_MOST_S, MAX_HOLD_S, SQS, QueueBounds, is_fifo, misplaced, objection, unknown_queue
from sedano.ports import PARKED, Clock, Delivery, Outgoing

POLL_S = 0.1
"""The interval, in seconds, at which a waiting `receive` polls."""
COPIES_S = 300.0
"""How long, in seconds, a FIFO queue remembers the messages that it accepted."""


@dataclass(slots=True)
class _Kept:
    number: int
    message_id: str
    outgoing: Outgoing
    sent: float
    visible: float
    receives: int = 0
    receipt: str = ""
    received: float = 0.0


@dataclass(slots=True)
class _Queue:
    """The messages of one queue; *order* is a heap of (visible from, number) in which an entry that is out of date is skipped."""

    kept: dict[int, _Kept] = field(default_factory=dict)
    order: list[tuple[float, int]] = field(default_factory=list)
    dead: list[_Kept] = field(default_factory=list)
    fifo: bool = False
    taken: dict[tuple[str | None, str], float] = field(default_factory=dict)


class MemoryQueues:
    """The queues of one deployment in memory.

    Args:
        clock: decides what is visible.
        keys: the keys of the queues that exist, such as `commands:default`, `events`.
        visibility: seconds for which a received message stays invisible.
        max_receives: receipts after which the next one makes the message a dead letter (see `dead`); the parked queue keeps its messages,
            and FIFO queues deliver theirs without that limit (`sedano.model.order`).
        bounds: the bounds of the queues; by default those of SQS.
    """

    def __init__(
        self, clock: Clock, keys: Sequence[str], visibility: float = 30.0, max_receives: int = 5, bounds: QueueBounds = SQS
    ) -> None:  # fmt: skip
        """Make empty queues."""
        self.bounds = bounds
        self._clock = clock
        self._queues: Mapping[str, _Queue] = {key: _Queue(fifo=is_fifo(key)) for key in keys}
        self._visibility = visibility
        self._max_receives = max_receives
        self._numbers = 0
        self._lock = threading.Lock()

    def send(self, queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
        """Send all; answer None for each that was accepted."""
        target = self._queue(queue)
        now = self._clock.now()
        answers: list[SedanoError | None] = []
        with self._lock:
            for message in messages:
                refused = objection(message.body, message.delay, message.tenant, message.attributes, self.bounds) or misplaced(
                    queue, message.delay, message.serial_key, message.once, self.bounds
                )
                if refused is None and not (target.fifo and _is_copy(target, message, now)):
                    self._add(target, message, now)
                answers.append(refused)
        return answers

    def later(self, queue: str, message: Outgoing, seconds: float) -> str:
        """Accept a message that becomes visible in *seconds*, with no upper limit, like a timer's when it fires; return its id for
        `forget`."""
        target = self._queue(queue)
        now = self._clock.now()
        with self._lock:
            kept = self._add(target, message, now)
            _show(target, kept, now + seconds)
        return kept.message_id

    def forget(self, queue: str, message_id: str) -> None:
        """Remove a message."""
        target = self._queue(queue)
        with self._lock:
            target.kept.pop(int(message_id.removeprefix("m-")), None)

    def receive(self, queue: str, most: int = 10, wait: float = 0.0) -> list[Delivery]:
        """Return up to *most* visible messages, the oldest first, moving the clock on by up to *wait* seconds until the first."""
        source = self._queue(queue)
        until = self._clock.now() + wait
        while True:
            now = self._clock.now()
            with self._lock:
                take = self._take_in_order if source.fifo else self._take
                found = take(queue, source, min(most, self.bounds.max_batch), now)
            if found or now >= until:
                return found
            self._clock.sleep(min(POLL_S, until - now))

    def delete(self, deliveries: Sequence[Delivery]) -> None:
        """Acknowledge these messages; one that was received again since is not deleted by its old receipt."""
        for delivery in deliveries:
            target = self._queue(delivery.queue)
            with self._lock:
                kept = _held(target, delivery)
                if kept is not None:
                    del target.kept[kept.number]

    def hold(self, delivery: Delivery, seconds: float) -> None:
        """Make a received message invisible for *seconds* from now, at most until 12 hours after its receipt."""
        target, now = self._queue(delivery.queue), self._clock.now()
        whole = -int(-min(max(seconds, 0.0), HOLD_MOST_S) // 1)
        with self._lock:
            kept = _held(target, delivery)
            if kept is not None:
                while whole and now + whole > kept.received + MAX_HOLD_S:
                    whole //= 2
                _show(target, kept, now + whole)

    def depth(self, queue: str) -> int:
        """Return how many messages are in *queue*: visible, delayed and in flight."""
        with self._lock:
            return len(self._queue(queue).kept)

    def load(self, queue: str) -> Load:
        """Return how many messages of *queue* wait and could be received, and how many were received and are still hidden."""
        now = self._clock.now()
        with self._lock:
            every = self._queue(queue).kept.values()
            hidden = sum(kept.visible > now and kept.receives > 0 for kept in every)
            return Load(sum(kept.visible <= now for kept in every), hidden)

    def age(self, queue: str) -> float:
        """Return for how long (s) the message of *queue* that has waited longest could be received; 0: none waits."""
        now = self._clock.now()
        with self._lock:
            return now - min((kept.visible for kept in self._queue(queue).kept.values() if kept.visible <= now), default=now)

    def next_visible(self, queue: str) -> float | None:
        """Return when (epoch s) the next message of *queue* becomes or became visible; None when the queue is empty."""
        with self._lock:
            shown: dict[object, float] = {}
            for kept in self._queue(queue).kept.values():
                key: object = kept.outgoing.serial_key if is_fifo(queue) else kept.number
                shown[key] = max(kept.visible, shown.get(key, kept.visible))
            return min(shown.values(), default=None)

    def peek(self, queue: str) -> list[Outgoing]:
        """Return the messages in *queue*, in the order of sending, without receiving them."""
        with self._lock:
            return [kept.outgoing for kept in self._queue(queue).kept.values()]

    def dead(self, queue: str) -> list[Outgoing]:
        """Return the dead letters of *queue*, the oldest first."""
        with self._lock:
            return [kept.outgoing for kept in self._queue(queue).dead]

    def duplicate(self, delivery: Delivery) -> None:
        """Deliver this message once more, as an at-least-once queue may do at any time."""
        outgoing = Outgoing(delivery.body, attributes=delivery.attributes, serial_key=delivery.serial_key)
        with self._lock:
            self._add(self._queue(delivery.queue), outgoing, self._clock.now())

    def _queue(self, key: str) -> _Queue:
        try:
            return self._queues[key]
        except KeyError:
            raise unknown_queue(key, self._queues) from None

    def _add(self, target: _Queue, message: Outgoing, now: float) -> _Kept:
        self._numbers += 1
        number = self._numbers
        kept = target.kept[number] = _Kept(number, f"m-{number}", message, now, now + message.delay)
        _show(target, kept, kept.visible)
        return kept

    def _take(self, key: str, source: _Queue, most: int, now: float) -> list[Delivery]:
        found: list[Delivery] = []
        while source.order and source.order[0][0] <= now and len(found) < most:
            visible, number = heapq.heappop(source.order)
            kept = source.kept.get(number)
            if kept is None or kept.visible != visible:
                continue
            if kept.receives >= self._max_receives and key != PARKED:
                source.dead.append(source.kept.pop(number))
            else:
                found.append(self._deliver(key, source, kept, now))
        return found

    def _take_in_order(self, key: str, source: _Queue, most: int, now: float) -> list[Delivery]:
        found: list[Delivery] = []
        out = {kept.outgoing.serial_key for kept in source.kept.values() if kept.visible > now}
        for kept in list(source.kept.values()):
            if len(found) == most:
                break
            if kept.outgoing.serial_key in out:
                continue
            if kept.receives >= MAX_RECEIVES:
                source.dead.append(source.kept.pop(kept.number))
            else:
                found.append(self._deliver(key, source, kept, now))
        return found

    def _deliver(self, key: str, source: _Queue, kept: _Kept, now: float) -> Delivery:
        kept.receives += 1
        kept.receipt = f"{kept.message_id}#{kept.receives}"
        kept.received = now
        _show(source, kept, now + self._visibility)
        message = kept.outgoing
        attributes = dict(message.attributes)
        return Delivery(
            queue=key, message_id=kept.message_id, receipt=kept.receipt, body=message.body, receives=kept.receives, sent=kept.sent,
            attributes=attributes, serial_key=message.serial_key,
        )  # fmt: skip


def _is_copy(queue: _Queue, message: Outgoing, now: float) -> bool:
    """Return whether *queue* accepted the same message a short while ago; remember the message otherwise."""
    known = (message.serial_key, message.once or message.body)
    if queue.taken.get(known, now) > now:
        return True
    queue.taken[known] = now + COPIES_S
    return False


def _show(queue: _Queue, kept: _Kept, visible: float) -> None:
    kept.visible = visible
    heapq.heappush(queue.order, (visible, kept.number))


def _held(queue: _Queue, delivery: Delivery) -> _Kept | None:
    number = delivery.message_id.removeprefix("m-")
    kept = queue.kept.get(int(number)) if number.isdigit() else None
    return kept if kept is not None and kept.receipt == delivery.receipt else None
