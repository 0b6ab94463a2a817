"""The sender: sends messages in natural batches, with retries within a deadline, and confirms a message only when it is stored durably.

Natural batching (group commit): a free lane sends at once; messages that arrive while all lanes are busy form the next batch. No thread
waits to fill a batch, a single publishing thread never waits, and many threads share calls.

`publish` returns when the queue accepted the message, or when it is stored in the *backlog* (`sedano.ports.backlog`). Otherwise it
raises: `PublishError` if the queue cannot be reached and there is no backlog, or the backlog is full or cannot be written; another error if
no retry can help. So a message whose id was returned is lost only with its backlog. Stored messages are sent after the next successful
publication, by one thread at a time. After an attempt that sends no message, because another sender has them or the backlog does not
answer, publications leave them for a second; the pause doubles up to 30 s. A message that a FIFO queue does not accept raises and is not
stored, because the next publication would overtake it.

A deadline (`sedano.ports.deadlines`) bounds the attempts, their pauses, and the wait for a lane; a send whose answer was lost is sent
again, and the claim absorbs the copy. Invariant of a line: *free* lanes plus threads that lead a batch is the number of lanes. So a thread
leaves under the line's lock, and leadership is only ever handed to a ticket whose thread still waits.
"""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from sedano.engine.drafts import Addressed
from sedano.errors import BacklogFull, NotCalled, PublishError, SedanoError, Unavailable
from sedano.model.queues import is_fifo
from sedano.ports import Clock, Entropy, Outgoing, Queues, Telemetry, Timers, deadlines

if TYPE_CHECKING:
    from sedano.ports.backlog import Backlog, Stored

PAUSES = (0.1, 0.4, 1.6)
"""Seconds before each retry of a send; jitter halves them at most."""
DRAINED = 100
"""The most stored messages that are sent after one successful publication."""
LONGEST_PAUSE_S = 30.0
"""The longest pause (s) before stored messages are looked for again; the first is 1 s, and each further one twice as long."""
LEAST_LEFT_S = 0.25
"""A publication with fewer seconds than this until its deadline sends no stored messages."""
_LATE = "no lane was free, or no answer arrived, before the deadline"


class _Ticket:
    """One waiting message. Its lock is released when it was sent, or when its thread must send the *batch* that begins with it."""

    __slots__ = ("batch", "error", "gone", "outgoing", "turn")

    def __init__(self, outgoing: Outgoing) -> None:
        self.outgoing = outgoing
        self.error: SedanoError | None = None
        self.batch: list[_Ticket] = []
        self.gone = False
        self.turn = threading.Lock()
        self.turn.acquire()


class _Line:
    """The messages that wait for one queue, and how many lanes are free."""

    __slots__ = ("free", "lock", "most", "waiting")

    def __init__(self, lanes: int, most: int) -> None:
        self.lock, self.most = threading.Lock(), most
        self.waiting: deque[_Ticket] = deque()
        self.free = lanes

    def hand_on(self, batch: Sequence[_Ticket]) -> None:
        """Let the first thread of *batch* that still waits send it; free the lane when no thread waits. Under the lock."""
        staying = [ticket for ticket in batch if not ticket.gone]
        if not staying:
            staying = [self.waiting.popleft() for _ in range(min(self.most, len(self.waiting)))]
        self.free += not staying
        if staying:
            staying[0].batch = staying
            staying[0].turn.release()


class Publisher:
    """Sends messages to queues. Thread-safe."""

    def __init__(
        self, queues: Queues, timers: Timers, clock: Clock, entropy: Entropy, telemetry: Telemetry, lanes: int = 4,
        backlog: Backlog | None = None,
    ) -> None:  # fmt: skip
        """Send to *queues* with at most *lanes* calls at a time for each queue; unsent messages are stored in *backlog*.

        A delay beyond the queue's longest becomes one of *timers*; without timers the message waits in steps.
        """
        self._queues, self._timers, self._clock, self._entropy, self._telemetry = queues, timers, clock, entropy, telemetry
        self._lines: dict[str, _Line] = defaultdict(lambda: _Line(lanes, queues.bounds.max_batch))
        self._backlog = backlog
        self._stored, self._keeps = False, 0
        self._pauses, self._rests = 0, 0.0
        self._draining = threading.Lock()
        self._interrupted: deque[Addressed] = deque()
        self._lock = threading.Lock()

    def publish(self, message: Addressed) -> None:
        """Send one message and return when it was accepted, or stored in the backlog.

        Raises:
            PublishError: the queue cannot be reached, or keeps order, and the message is not stored.
            SedanoError: the message can never be accepted (too large), or the deployment must be changed first (unknown queue, no grant).
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
        if ticket.error is not None or self._stored:
            self._settle([message], [ticket.error])

    def publish_all(self, messages: Sequence[Addressed]) -> list[SedanoError | None]:
        """Send all in batches of ten, with bounded retries; answer None for each accepted message. The backlog is not used."""
        by_queue: dict[str, list[int]] = defaultdict(list)
        for index, message in enumerate(messages):
            by_queue[message.queue].append(index)
        answers: list[SedanoError | None] = [None] * len(messages)
        for queue, indices in by_queue.items():
            for index, answer in zip(indices, self._send(queue, [messages[i].outgoing for i in indices]), strict=True):
                answers[index] = answer
        return answers

    def publish_or_keep(self, messages: Sequence[Addressed]) -> None:
        """Send all in batches of ten; store the messages that the queue did not accept, all or none of them; raise the first error of a
        message that is neither sent nor stored."""
        self._settle(messages, self._all_or_back(messages))

    def resume(self) -> None:
        """Send messages that an earlier process stored after the first successful publication; nothing is opened or sent yet."""
        self._stored = self._backlog is not None and self._backlog.exists()

    def drain(self) -> int:
        """Send the messages of the backlog until one fails or the deadline is over; return how many were sent."""
        sent = 0
        while self._backlog is not None and self._backlog.exists():
            went = self._drain(self._backlog)
            sent += went
            if not went:
                break
        return sent

    def close(self) -> list[Addressed]:
        """Send interrupted and stored messages; store those that were not sent, and return those that are not stored beyond this process.
        """
        with self._lock:
            rest = list(self._interrupted)
            self._interrupted.clear()
        lost = [m for m, error in zip(rest, self._all_or_back(rest), strict=True) if error is not None]
        try:
            if lost:
                self._keep(lost, Unavailable("the program ended"))
            self.drain()
        except SedanoError as error:
            self._telemetry.log("error", "backlog not usable", error=str(error))
            return lost
        return [] if self._backlog is None or self._backlog.lasts else self._left_in(self._backlog)

    def _left_in(self, backlog: Backlog) -> list[Addressed]:
        """Return what is still in a *backlog* that ends with this process."""
        left: list[Addressed] = []
        while some := backlog.take(DRAINED, self._clock.now()):
            left += [one.message for one in some]
        return left

    def _all_or_back(self, messages: Sequence[Addressed]) -> list[SedanoError | None]:
        """Send all; if the process gets a signal to end, all are left to `close`, because a copy does no harm."""
        try:
            return self.publish_all(messages)
        except BaseException:
            with self._lock:
                self._interrupted.extend(messages)
            raise

    def _wait(self, line: _Line, ticket: _Ticket) -> None:
        """Wait until *ticket* was sent or must lead; at the deadline, or when the process must end, leave the line to the others."""
        seconds = deadlines.left(self._clock.monotonic())
        try:
            came = ticket.turn.acquire(timeout=-1 if seconds is None else seconds)
        except BaseException:
            self._leave(line, ticket)
            raise
        if not came:
            self._leave(line, ticket)

    def _leave(self, line: _Line, ticket: _Ticket) -> None:
        """Remove *ticket* from the line, and pass on the batch that it leads; it is late, unless it has its answer by now.

        Under the lock, so that an answer that arrives afterwards counts: its thread may still read it.
        """
        with line.lock:
            ticket.gone = True
            if ticket in line.waiting:
                line.waiting.remove(ticket)
            elif ticket.batch:
                others, ticket.batch = ticket.batch, []
                line.hand_on(others)
            elif ticket.turn.acquire(blocking=False):
                return
            ticket.error = Unavailable(_LATE)

    def _lead(self, queue: str, line: _Line, batch: list[_Ticket]) -> None:
        """Send *batch*, whose first ticket is this thread's own; hand the lane to the next batch; wake the others.

        If this thread must end meanwhile, the others wait again, before later ones.
        """
        answers: Sequence[SedanoError | None] | None = None
        try:
            answers = self._send(queue, [t.outgoing for t in batch])
        finally:
            with line.lock:
                if answers is None:
                    line.waiting.extendleft(ticket for ticket in reversed(batch[1:]) if not ticket.gone)
                line.hand_on(())
                for ticket, answer in zip(batch, answers or (), strict=False):
                    ticket.error = answer
                    if ticket is not batch[0]:
                        ticket.turn.release()

    def _settle(self, messages: Sequence[Addressed], answers: Sequence[SedanoError | None]) -> None:
        """Store the messages that may be sent later, all or none; raise the first error of a message that is neither sent nor stored."""
        later: list[Addressed] = []
        away: Unavailable | None = None
        failure: SedanoError | None = None
        for message, error in zip(messages, answers, strict=True):
            if isinstance(error, Unavailable) and not is_fifo(message.queue):
                later, away = [*later, message], away or error
            else:
                failure = failure or error
        if away is not None:
            self._keep(later, away)
        if isinstance(failure, Unavailable):
            _refuse(failure, "its queue keeps order, and the next publication would be sent before it")
        if failure is not None:
            raise failure
        if self._stored and away is None and messages and self._backlog is not None:
            self._follow(self._backlog)

    def _keep(self, messages: Sequence[Addressed], error: SedanoError) -> None:
        """Store all of *messages*; raise `PublishError` if they cannot be stored."""
        if self._backlog is None:
            hosts = "AWS Lambda, SEDANO_SPOOL=off, or ports that were attached"
            _refuse(error, f"this host has no spool ({hosts}), and SEDANO_BACKLOG names no other backlog")
        try:
            self._backlog.keep(messages, self._clock.now())
        except BacklogFull:
            raise
        except SedanoError as wrong:
            _refuse(error, str(wrong))
        with self._lock:
            self._stored = True
            self._keeps += 1
        self._telemetry.count("PublishBacklogged", len(messages))
        self._telemetry.log("warning", "queue not reached: messages stored in the backlog", count=len(messages), error=str(error))

    def _follow(self, backlog: Backlog) -> None:
        """Send some of the stored messages after a publication, unless another thread does, the pause lasts, or the deadline is near."""
        now = self._clock.monotonic()
        left = deadlines.left(now)
        if now < self._rests or (left is not None and left < LEAST_LEFT_S) or not self._draining.acquire(blocking=False):
            return
        try:
            self._drain(backlog)
        finally:
            self._draining.release()

    def _drain(self, backlog: Backlog) -> int:
        """Send some of the stored messages; return how many were sent. A fault of the backlog does not fail a successful publication."""
        keeps, sent = self._keeps, 0
        try:
            some = backlog.take(DRAINED, self._clock.now())
            if some:
                sent = self._sent(backlog, some)
            waits = bool(some) or backlog.exists()
        except SedanoError as wrong:
            self._telemetry.log("error", "backlog not usable", error=str(wrong))
            sent, waits = 0, self._stored
        self._drained(sent, waits, keeps)
        return sent

    def _sent(self, backlog: Backlog, some: Sequence[Stored]) -> int:
        """Send *some*; forget those that were sent, give the others back; return how many were sent."""
        answers = self.publish_all([one.message for one in some])
        sent = [one for one, error in zip(some, answers, strict=True) if error is None]
        backlog.done(sent)
        backlog.give_back([one for one, error in zip(some, answers, strict=True) if error is not None])
        return len(sent)

    def _drained(self, sent: int, waits: bool, keeps: int) -> None:
        """Note whether messages still wait (*waits*, or more than *keeps* were kept); begin a pause if *sent* is 0."""
        with self._lock:
            self._stored = waits or self._keeps != keeps
            self._pauses = 0 if sent or not self._stored else self._pauses + 1
            self._rests = self._clock.monotonic() + min(LONGEST_PAUSE_S, 2.0 ** min(self._pauses - 1, 5)) if self._pauses else 0.0

    def _send(self, queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
        answers = self._try(queue, messages)
        for pause in PAUSES:
            again = [i for i, a in enumerate(answers) if isinstance(a, Unavailable) and not isinstance(a, NotCalled)]
            if not again:
                break
            wait, left = pause * (1 - self._entropy.unit() / 2), deadlines.left(self._clock.monotonic())
            if left is not None and left <= wait:
                break
            self._clock.sleep(wait)
            for index, answer in zip(again, self._try(queue, [messages[i] for i in again]), strict=True):
                answers[index] = answer
        return answers

    def _try(self, queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
        try:
            return send(self._queues, self._timers, self._clock, queue, messages)
        except SedanoError as error:
            return [error] * len(messages)


def send(queues: Queues, timers: Timers, clock: Clock, queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
    """Send *messages* to *queue*, or by *timers* if the delay is too long for it; answer None for each that was accepted."""
    if any(message.delay > queues.bounds.max_delay for message in messages):
        from sedano.engine import timers as timing

        return timing.send(queues, timers, clock, queue, messages)
    return queues.send(queue, messages)


def _refuse(error: SedanoError, why: str) -> NoReturn:
    """Raise `PublishError`: not sent because of *error*, and not stored because of *why*."""
    raise PublishError(f"not published: {error}; not stored: {why}; publish it again, with a task_id of your own to be safe") from error
