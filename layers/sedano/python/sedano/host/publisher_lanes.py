"""The lanes of the publisher: threads that send to queues what programs gave to it.

`SendingLanes` send from memory: the first lane of a queue sends whatever waits, a further one only full batches, so that more lanes do not
make smaller batches. While batches are shared, the first lane waits one turn of the loop (1 ms) for more; one program alone never waits.
`SpoolLanes` send the stored messages, page by page and each page queue by queue; a full page calls the next lane.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import NamedTuple

from sedano.engine.publisher.sender import Publisher
from sedano.engine.publisher.spool import Spool, Taken
from sedano.errors import SedanoError, Unavailable
from sedano.host.publisher_peer import Peer
from sedano.model.connection_breaker import pause_after
from sedano.ports import Clock, Outgoing, Queues, Telemetry
from sedano.ports.backlog import TAKEN_S
from sedano.ports.deadlines import within

PAGE = 100
"""The stored messages that a lane takes at a time."""
LOOK_S = 1.0
"""The seconds after which a lane looks for messages that another process has stored or taken."""
BATCH = 10
"""The stored messages that a lane sends before it deletes them: at most so many of a lane are sent twice after a kill."""


class Waiting(NamedTuple):
    """A message that waits for a lane, and the publication that it answers."""

    peer: Peer
    seq: int
    outgoing: Outgoing


class EndedBatch(NamedTuple):
    """A batch that a lane has tried to send, with an answer for each message."""

    batch: Sequence[Waiting]
    answers: Sequence[SedanoError | None]


@dataclass(slots=True)
class _Line:
    queue: str
    waiting: deque[Waiting] = field(default_factory=deque)
    busy: int = 0
    shares: bool = False
    held: bool = False

    def holds(self, full: int) -> bool:
        """Return whether to wait one turn for more: the last batch was shared, and this one is not full."""
        self.held = self.shares and not self.held and not self.busy and len(self.waiting) < full
        return self.held


class SendingLanes:
    """Sends messages from memory. Its methods are called by the loop of the process alone."""

    def __init__(self, queues: Queues, lanes: int, telemetry: Telemetry, wake: Callable[[], None]) -> None:
        """Send to *queues* by at most *lanes* threads for each queue; *wake* is called when a batch has ended."""
        self._queues, self._most, self._telemetry, self._wake = queues, lanes, telemetry, wake
        self._lines: dict[str, _Line] = {}
        self._todo: SimpleQueue[tuple[_Line, list[Waiting]]] = SimpleQueue()
        self._done: deque[tuple[_Line, EndedBatch]] = deque()
        self._threads = 0
        self.busy = 0
        """How many batches are being sent."""
        self.waiting, self.bytes = 0, 0
        """How many messages wait for a lane, and the characters of their bodies."""
        self.calls = 0
        """How many batches were sent."""
        self.gathers = False
        """Whether messages wait one turn for more."""

    def add(self, queue: str, message: Waiting) -> None:
        """Let *message* wait for a lane of *queue*."""
        line = self._lines.get(queue) or self._lines.setdefault(queue, _Line(queue))
        line.waiting.append(message)
        self.waiting += 1
        self.bytes += len(message.outgoing.body)

    def start(self) -> None:
        """Give waiting messages to free lanes."""
        full = self._queues.bounds.max_batch
        self.gathers = False
        for line in self._lines.values():
            if line.waiting and line.holds(full):
                self.gathers = True
                continue
            while line.waiting and line.busy < self._most and (not line.busy or len(line.waiting) >= full):
                batch = [line.waiting.popleft() for _ in range(min(full, len(line.waiting)))]
                line.busy += 1
                line.shares = len(batch) > 1
                self.busy += 1
                self.waiting -= len(batch)
                self.bytes -= sum(len(one.outgoing.body) for one in batch)
                if self.busy > self._threads:
                    self._threads += 1
                    threading.Thread(target=self._run, name=f"sedano-lane-{self._threads}", daemon=True).start()
                self._todo.put((line, batch))

    def ended(self) -> list[EndedBatch]:
        """Return the batches that have ended since the last call."""
        found = []
        while self._done:
            line, ended = self._done.popleft()
            line.busy -= 1
            self.busy -= 1
            self.calls += 1
            found.append(ended)
        return found

    def _run(self) -> None:
        while True:
            line, batch = self._todo.get()
            self._done.append((line, EndedBatch(batch, self._sent(line.queue, [one.outgoing for one in batch]))))
            self._wake()

    def _sent(self, queue: str, messages: Sequence[Outgoing]) -> Sequence[SedanoError | None]:
        try:
            return self._queues.send(queue, messages)
        except SedanoError as error:
            return [error] * len(messages)
        except Exception as error:  # noqa: BLE001 - a lane that ends would never answer its batch
            self._telemetry.log("error", "an unexpected error of a queue", queue=queue, error=repr(error))
            return [Unavailable(f"unexpected: {error!r}")] * len(messages)


class _Held(NamedTuple):
    """A queue that did not accept a batch: its consecutive *failures*, and the monotonic moment at which it is tried again."""

    failures: int
    until: float


class SpoolLanes:
    """Sends the messages of a spool, from now on until `stop`.

    Other programs may use the spool too, so one of the lanes reads it once in `LOOK_S`; a full page calls the next lane. A queue that
    accepts nothing of a batch is left out for a while, and the other queues are not.
    """

    def __init__(
        self, spool: Spool, publisher: Publisher, clock: Clock, telemetry: Telemetry, lanes: int, seconds: float, look_s: float = LOOK_S
    ) -> None:
        """Send by *publisher*, by at most *lanes* threads, each batch within *seconds*; read an idle spool every *look_s* (s)."""
        self._spool, self._publisher, self._clock, self._telemetry = spool, publisher, clock, telemetry
        self._seconds, self._look_s = seconds, look_s
        self._changed = threading.Condition()
        self._stopping = False
        self._called = [lane == 0 for lane in range(lanes)]
        self._looked = clock.monotonic()
        self._held: dict[str, _Held] = {}
        self._changes = 0
        self.stored = spool.waiting()
        """How many messages wait on disk, as far as this process knows: an estimate for those who ask."""
        self.sent = 0
        """How many stored messages were sent."""
        self._threads = [
            threading.Thread(target=self._run, args=(lane,), name=f"sedano-spool-{lane}", daemon=True) for lane in range(lanes)
        ]  # fmt: skip
        for thread in self._threads:
            thread.start()

    def added(self, number: int) -> None:
        """Note that *number* more messages are stored."""
        self._count(number, 0)
        self._call(0)

    def stop(self) -> None:
        """Let the lanes end after their batches."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()

    def are_running(self) -> bool:
        """Return whether a lane has not ended yet."""
        return any(thread.is_alive() for thread in self._threads)

    def _run(self, lane: int) -> None:
        """Send pages; a full page calls the next lane."""
        failures = 0
        while self._may_look(lane, pause_after(failures) if failures else None):
            try:
                size = self._page(lane)
                if not size:
                    self._recount()
            except SedanoError as wrong:
                failures += 1
                self._telemetry.log("error", "the spool of the publisher cannot be used", error=str(wrong))
            except Exception as wrong:  # noqa: BLE001 - a lane that ends would leave confirmed messages on disk
                failures += 1
                self._telemetry.log("error", "an unexpected error of the spool", error=repr(wrong))
            else:
                failures = 0
                if size:
                    self._call(lane)

    def _call(self, lane: int) -> None:
        """Let *lane* look for messages at once, if it exists."""
        with self._changed:
            if lane < len(self._called):
                self._called[lane] = True
                self._changed.notify_all()

    def _may_look(self, lane: int, pause: float | None) -> bool:
        """Wait until *lane* is called, or no lane has looked for `look_s`; after a failure of the spool, for *pause* seconds. Return
        whether to go on.
        """
        with self._changed:
            if pause is not None:
                self._changed.wait_for(lambda: self._stopping, pause)
            while pause is None and not self._stopping and not self._called[lane]:
                left = self._looked + self._look_s - self._clock.monotonic()
                if left <= 0:
                    break
                self._changed.wait(left)
            self._called[lane] = False
            self._looked = self._clock.monotonic()
            return not self._stopping

    def _page(self, lane: int) -> int:
        """Try one page, queue by queue, and return its size."""
        now = self._clock.monotonic()
        with self._changed:
            held = [queue for queue, one in self._held.items() if one.until > now]
        some = self._spool.take(PAGE, self._clock.now(), held)
        if len(some) == PAGE:
            self._call(lane + 1)
        by_queue: dict[str, list[Taken]] = {}
        for one in some:
            by_queue.setdefault(one.message.queue, []).append(one)
        for queue, waiting in by_queue.items():
            self._of_queue(queue, waiting, now + TAKEN_S / 2)
        return len(some)

    def _of_queue(self, queue: str, waiting: Sequence[Taken], until: float) -> None:
        """Send *waiting* before *until* (monotonic) in batches; messages that were not tried keep their place."""
        for start in range(0, len(waiting), BATCH):
            if self._stopping or self._clock.monotonic() >= until:
                self._spool.release(waiting[start:])
                return
            if not self._batch(queue, waiting[start : start + BATCH]):
                self._spool.release(waiting[start + BATCH :])
                return

    def _batch(self, queue: str, some: Sequence[Taken]) -> int:
        """Send *some*; return how many of them went."""
        answers = self._answers(queue, some)
        sent = [one for one, error in zip(some, answers, strict=True) if error is None]
        self._note(queue, went=bool(sent))
        self._spool.done(sent)
        self._count(0, len(sent))
        self._spool.give_back([one for one, error in zip(some, answers, strict=True) if error is not None])
        wrong = next((error for error in answers if error is not None), None)
        if wrong is not None:
            left = len(some) - len(sent)
            self._telemetry.log("warning", "stored messages wait: the queue did not accept them", count=left, error=str(wrong))
        return len(sent)

    def _answers(self, queue: str, some: Sequence[Taken]) -> Sequence[SedanoError | None]:
        try:
            with within(self._seconds, self._clock.monotonic()):
                return self._publisher.publish_all([one.message for one in some])
        except Exception as error:  # noqa: BLE001 - the messages would be left for as long as they are taken
            self._telemetry.log("error", "an unexpected error of a queue", queue=queue, error=repr(error))
            return [Unavailable(f"unexpected: {error!r}")] * len(some)

    def _note(self, queue: str, *, went: bool) -> None:
        """Leave *queue* out for a while if no message of a batch *went*; lanes that fail together count once."""
        now = self._clock.monotonic()
        with self._changed:
            if went:
                self._held.pop(queue, None)
                return
            held = self._held.get(queue, _Held(0, now))
            if held.until <= now:
                self._held[queue] = _Held(held.failures + 1, now + pause_after(held.failures + 1))

    def _count(self, added: int, sent: int) -> None:
        with self._changed:
            self._changes += 1
            self.stored = max(0, self.stored + added - sent)
            self.sent += sent

    def _recount(self) -> None:
        """Read how many messages wait, unless the number changes meanwhile."""
        with self._changed:
            before = self._changes
        waiting = self._spool.waiting()
        with self._changed:
            if self._changes == before:
                self.stored = waiting
