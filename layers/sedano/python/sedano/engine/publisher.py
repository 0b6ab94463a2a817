"""The publisher: sends messages, naturally batched, with bounded retries and a backlog for when the queue is away.

Natural batching (group commit): a free lane sends at once; what arrives while all lanes are busy is the next batch. Nobody lingers, one
publishing thread pays no waiting, many threads share calls. `publish` returns when the queue accepted the message. When the queue stays
away through the bounded retries, the message goes to the backlog and is sent with the next one that gets through, or at `close`; when the
backlog is full, `BacklogFull` is raised and nothing was accepted. What a FIFO queue does not take is not kept but raised (`Unavailable`),
for what is published next would come before it. A send whose answer was lost is sent again: the claim absorbs the copy.
"""

from __future__ import annotations

import importlib
import threading
from collections import defaultdict, deque
from collections.abc import Sequence

from sedano.engine.drafts import Addressed
from sedano.errors import BacklogFull, SedanoError, Unavailable
from sedano.model.transport import MAX_DELAY_S, is_fifo
from sedano.ports import Clock, Entropy, Outgoing, Queues, Telemetry, Timers

BATCH = 10
PAUSES = (0.1, 0.4, 1.6)
"""Seconds before each retry of a send; jitter halves them at most."""


class _Ticket:
    """One waiting message. Its lock is released when it was sent, or when its thread shall send the *batch* that begins with it."""

    __slots__ = ("batch", "error", "outgoing", "turn")

    def __init__(self, outgoing: Outgoing) -> None:
        self.outgoing = outgoing
        self.error: SedanoError | None = None
        self.batch: list[_Ticket] = []
        self.turn = threading.Lock()
        self.turn.acquire()


class _Line:
    """The messages that wait for one queue, and how many lanes are free."""

    __slots__ = ("free", "lock", "waiting")

    def __init__(self, lanes: int) -> None:
        self.lock = threading.Lock()
        self.waiting: deque[_Ticket] = deque()
        self.free = lanes


class Publisher:
    """Sends messages to queues. Thread-safe."""

    def __init__(
        self, queues: Queues, timers: Timers, clock: Clock, entropy: Entropy, telemetry: Telemetry, lanes: int = 4, backlog: int = 10_000
    ) -> None:
        """Send over *queues* with at most *lanes* calls under way for each queue, and keep at most *backlog* messages when it is away.

        What is delayed by more than a queue can hold back (900 s) becomes one of *timers*.
        """
        self._queues = queues
        self._timers = timers
        self._clock = clock
        self._entropy = entropy
        self._telemetry = telemetry
        self._lines: dict[str, _Line] = defaultdict(lambda: _Line(lanes))
        self._backlog: deque[Addressed] = deque()
        self._most = backlog
        self._lock = threading.Lock()

    def publish(self, message: Addressed) -> None:
        """Send one message and return when it was accepted, or kept in the backlog.

        Raises:
            BacklogFull: the queue is away and the backlog is full.
            Unavailable: the queue is away and keeps order.
            SedanoError: the message can never be accepted (too large, unknown queue).
        """
        with self._lock:
            line = self._lines[message.queue]
        ticket = _Ticket(message.outgoing)
        with line.lock:
            if line.free:
                line.free -= 1
                ticket.batch = [ticket]
            else:
                line.waiting.append(ticket)
        if not ticket.batch:
            self._wait(line, ticket)
        if ticket.batch:
            self._lead(message.queue, line, ticket.batch)
        self._settle(message, ticket.error)

    def publish_all(self, messages: Sequence[Addressed]) -> list[SedanoError | None]:
        """Send all in tens, with bounded retries; answer None for each accepted message. Nothing goes to the backlog."""
        by_queue: dict[str, list[int]] = defaultdict(list)
        for index, message in enumerate(messages):
            by_queue[message.queue].append(index)
        answers: list[SedanoError | None] = [None] * len(messages)
        for queue, indices in by_queue.items():
            for index, answer in zip(indices, self._send(queue, [messages[i].outgoing for i in indices]), strict=True):
                answers[index] = answer
        return answers

    def publish_or_keep(self, messages: Sequence[Addressed]) -> None:
        """Send all in tens; keep in the backlog what the queue did not take; raise the first error that no retry can cure."""
        failure: SedanoError | None = None
        for message, error in zip(messages, self._all_or_back(messages), strict=True):
            try:
                self._settle(message, error)
            except SedanoError as unsendable:
                failure = failure or unsendable
        if failure is not None:
            raise failure

    def waiting(self) -> int:
        """Return how many messages wait in the backlog."""
        return len(self._backlog)

    def close(self) -> list[Addressed]:
        """Send the backlog with bounded retries and return what could not be sent, for the caller to keep."""
        with self._lock:
            rest = list(self._backlog)
            self._backlog.clear()
        return [m for m, error in zip(rest, self._all_or_back(rest), strict=True) if error is not None]

    def _all_or_back(self, messages: Sequence[Addressed]) -> list[SedanoError | None]:
        """Send all; when the process is told to end meanwhile, all go to the backlog, for a copy does no harm."""
        try:
            return self.publish_all(messages)
        except BaseException:
            with self._lock:
                self._backlog.extend(messages)
            raise

    def _wait(self, line: _Line, ticket: _Ticket) -> None:
        """Wait until *ticket* was sent, or shall lead; when the process is told to end meanwhile, leave the line to the others."""
        try:
            ticket.turn.acquire()
        except BaseException:
            with line.lock:
                if ticket in line.waiting:
                    line.waiting.remove(ticket)
                others = ticket.batch[1:]
                line.free += bool(ticket.batch) and not others
            _begin(others)
            raise

    def _lead(self, queue: str, line: _Line, batch: list[_Ticket]) -> None:
        """Send *batch*, whose first ticket is this thread's own; hand the lane to the next batch; wake the others."""
        answers: Sequence[SedanoError | None] = [Unavailable("the process ended while it sent the batch")] * len(batch)
        try:
            answers = self._send(queue, [t.outgoing for t in batch])
        finally:
            with line.lock:
                following = [line.waiting.popleft() for _ in range(min(BATCH, len(line.waiting)))]
                line.free += not following
            _begin(following)
            for ticket, answer in zip(batch, answers, strict=True):
                ticket.error = answer
                if ticket is not batch[0]:
                    ticket.turn.release()

    def _settle(self, message: Addressed, error: SedanoError | None) -> None:
        if error is None:
            if self._backlog:
                self._drain()
        elif isinstance(error, Unavailable) and not is_fifo(message.queue):
            self._keep(message, error)
        else:
            raise error

    def _keep(self, message: Addressed, error: Unavailable) -> None:
        with self._lock:
            if len(self._backlog) >= self._most:
                raise BacklogFull(f"the queue {message.queue} is away and {self._most} messages wait already: {error}") from error
            self._backlog.append(message)
        self._telemetry.count("PublishBacklogged")
        self._telemetry.log("warning", "queue away: message kept in the backlog", queue=message.queue, error=str(error))

    def _drain(self) -> None:
        """Send some of the backlog, once, now that the queue answers again."""
        with self._lock:
            some = [self._backlog.popleft() for _ in range(min(10 * BATCH, len(self._backlog)))]
        for message, error in zip(some, self._all_or_back(some), strict=True):
            if error is not None:
                with self._lock:
                    self._backlog.append(message)

    def _send(self, queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
        answers = self._try(queue, messages)
        for pause in PAUSES:
            again = [i for i, a in enumerate(answers) if isinstance(a, Unavailable)]
            if not again:
                break
            self._clock.sleep(pause * (1 - self._entropy.unit() / 2))
            for index, answer in zip(again, self._try(queue, [messages[i] for i in again]), strict=True):
                answers[index] = answer
        return answers

    def _try(self, queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
        try:
            if any(message.delay > MAX_DELAY_S for message in messages):
                timing = importlib.import_module("sedano.engine.timing")
                timed: list[SedanoError | None] = timing.send(self._queues, self._timers, self._clock, queue, messages)
                return timed
            return self._queues.send(queue, messages)
        except SedanoError as error:
            return [error] * len(messages)


def _begin(batch: list[_Ticket]) -> None:
    """Let the thread of the first ticket send *batch*, if there is any."""
    if batch:
        batch[0].batch = batch
        batch[0].turn.release()
