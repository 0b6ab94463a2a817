"""The lanes of the publisher: threads that send to queues what programs gave to it.

`SendingLanes` send from memory: the first lane of a queue sends whatever waits, a further one only full batches, so that more lanes do not
make smaller batches. While batches are shared, the first lane waits one turn of the loop (1 ms) for more; one program alone never waits.
`SpoolLanes` send the stored messages, page by page; a further one begins when another page waits.
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
from sedano.ports.deadlines import within

PAGE = 100
"""The stored messages that a lane takes at a time."""
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


class SpoolLanes:
    """Sends the messages of a spool, from now on until `stop`."""

    def __init__(self, spool: Spool, publisher: Publisher, clock: Clock, telemetry: Telemetry, lanes: int, seconds: float) -> None:
        """Send by *publisher*, by at most *lanes* threads, each batch within *seconds*."""
        self._spool, self._publisher, self._clock, self._telemetry = spool, publisher, clock, telemetry
        self._seconds = seconds
        self._changed = threading.Condition()
        self._stopping = False
        self.stored = spool.waiting()
        """How many messages wait on disk, as far as this process knows."""
        self.sent = 0
        """How many stored messages were sent."""
        self._threads = [
            threading.Thread(target=self._run, args=(number * PAGE,), name=f"sedano-spool-{number}", daemon=True) for number in range(lanes)
        ]  # fmt: skip
        for thread in self._threads:
            thread.start()

    def added(self, number: int) -> None:
        """Note that *number* more messages are stored."""
        with self._changed:
            self.stored += number
            self._changed.notify_all()

    def stop(self) -> None:
        """Let the lanes end after their batches."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()

    def are_running(self) -> bool:
        """Return whether a lane has not ended yet."""
        return any(thread.is_alive() for thread in self._threads)

    def _run(self, beyond: int) -> None:
        """Send pages while more than *beyond* messages wait."""
        failures = 0
        while self._may_send(beyond, pause_after(failures) if failures else None):
            try:
                went, some = self._page()
            except SedanoError as wrong:
                self._telemetry.log("error", "the spool of the publisher cannot be used", error=str(wrong))
                went, some = 0, 1
            failures = 0 if went or not some else failures + 1
            if not some:  # the rest is taken by another process, or by one that was killed: it is looked for again
                self._counted()

    def _may_send(self, beyond: int, pause: float | None) -> bool:
        """Wait until a page waits; after a failure, for *pause* seconds first. Return whether to go on."""
        with self._changed:
            if pause is not None:
                self._changed.wait_for(lambda: self._stopping, pause)
            self._changed.wait_for(lambda: self._stopping or self.stored > beyond)
            return not self._stopping

    def _page(self) -> tuple[int, int]:
        """Send one page; return how many of its messages went, and its size."""
        some = self._spool.take(PAGE, self._clock.now())
        went = 0
        for start in range(0, len(some), BATCH):
            if self._stopping or (start and not went):
                self._spool.give_back(some[start:])
                break
            went += self._batch(some[start : start + BATCH])
        with self._changed:
            self.stored -= went
            self.sent += went
        return went, len(some)

    def _batch(self, some: Sequence[Taken]) -> int:
        with within(self._seconds, self._clock.monotonic()):
            answers = self._publisher.publish_all([one.message for one in some])
        sent = [one for one, error in zip(some, answers, strict=True) if error is None]
        self._spool.done(sent)
        self._spool.give_back([one for one, error in zip(some, answers, strict=True) if error is not None])
        wrong = next((error for error in answers if error is not None), None)
        if wrong is not None:
            left = len(some) - len(sent)
            self._telemetry.log("warning", "stored messages wait: the queue did not accept them", count=left, error=str(wrong))
        return len(sent)

    def _counted(self) -> None:
        """Count again what waits, after a pause."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopping, LOOK_S)
        waiting = self._spool.waiting()
        with self._changed:
            self.stored = waiting


LOOK_S = 1.0
"""How long a lane waits before it looks again for messages that another process has taken, in seconds."""
