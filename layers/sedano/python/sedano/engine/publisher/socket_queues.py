"""The queues of a program whose messages the publisher process of its host sends: `SEDANO_PUBLISHER=unix:/run/shop/publisher.sock`.

A message is written to the socket, and counts as accepted when the publisher has confirmed it (`sedano.model.publisher_frames`). Until
then the program keeps it. If the publisher is away, does not answer within half of the call's time, or ends meanwhile, the program sends
the unconfirmed messages itself; a copy is absorbed by its claim. After that, the breaker of the connection lets the program send on its own
for a while. So nothing is confirmed that only a memory holds.

The program itself sends what a line of the protocol cannot carry: messages of a FIFO queue, messages with attributes, and those of queues
that programs do not publish to.

Several threads may send: each uses a connection of its own, and leaves it to the next one. A child process opens its own.
"""

from __future__ import annotations

import os
import socket
import threading
from collections import deque
from collections.abc import Callable, Sequence

from sedano.engine.publisher.socket_connection import PublisherConnection
from sedano.errors import ConfigurationError, SedanoError, Unavailable
from sedano.model.connection_breaker import Connection, admitted, answered, unanswered
from sedano.model.publisher_frames import Refusal, error_of, travels
from sedano.model.queues import COMMANDS, QueueBounds, is_fifo
from sedano.ports import EVENTS, Clock, Delivery, Outgoing, Queues, Telemetry, deadlines

SHARE = 0.5
"""The share of a call's time in which the publisher must answer; the rest is left to send without it."""
_ENOUGH = 0.5
"""A publisher that had less than this share of the usual time to answer counts as healthy."""
Answers = list[SedanoError | None]


class SocketQueues:
    """Queues (`sedano.ports.Queues`) behind the socket of a publisher. Thread-safe.

    Args:
        path: the socket.
        others: returns the queues that send without the publisher, and receive.
        bounds: the bounds of the queues.
        deployment: the name of the program's deployment; the publisher's must be the same. Empty: the program names none.
        clock: the monotonic time.
        telemetry: takes the warning that the publisher is away.
        patience: seconds that a call has when no deadline is set.
    """

    def __init__(
        self, path: str, others: Callable[[], Queues], bounds: QueueBounds, deployment: str, clock: Clock, telemetry: Telemetry,
        patience: float,
    ) -> None:  # fmt: skip
        """Connect to nothing yet."""
        self.bounds = bounds
        self._path, self._others, self._deployment, self._clock, self._telemetry = path, others, deployment, clock, telemetry
        self._patience = patience
        self._idle: deque[PublisherConnection] = deque()
        self._process = os.getpid()
        self._lock, self._state = threading.Lock(), Connection()

    def send(self, queue: str, messages: Sequence[Outgoing]) -> Answers:
        """Give all to the publisher; answer None for each that it confirmed, or that was sent without it."""
        if not messages or not _is_carried(queue, messages):
            return self._others().send(queue, messages)
        answers: dict[int, Refusal | None] = {}
        why = self._exchanged(queue, messages, answers)
        if len(answers) == len(messages) and not any(answers.values()):
            return [None] * len(messages)
        errors = {index: None if refusal is None else error_of(refusal) for index, refusal in answers.items()}
        own = [index for index in range(len(messages)) if index not in errors or (errors[index] is None and answers[index] is not None)]
        if own:
            sent = self._sent_alone(queue, [messages[index] for index in own], why)
            errors |= dict(zip(own, sent, strict=True))
        return [errors[index] for index in range(len(messages))]

    def receive(self, queue: str, most: int = 10, wait: float = 0.0) -> list[Delivery]:
        """Return messages, without the publisher."""
        return self._others().receive(queue, most, wait)

    def delete(self, deliveries: Sequence[Delivery]) -> None:
        """Acknowledge messages, without the publisher."""
        self._others().delete(deliveries)

    def hold(self, delivery: Delivery, seconds: float) -> None:
        """Hold a message back, without the publisher."""
        self._others().hold(delivery, seconds)

    def _exchanged(self, queue: str, messages: Sequence[Outgoing], answers: dict[int, Refusal | None]) -> str:
        """Give the messages to the publisher and note its *answers*; return why some have none."""
        if self._process != os.getpid():
            self._idle, self._lock, self._process = deque(), threading.Lock(), os.getpid()
        now = self._clock.monotonic()
        left = deadlines.left(now)
        seconds = SHARE * (self._patience if left is None else min(left, self._patience))
        with self._lock:
            may, self._state = admitted(self._state, now, seconds)
            term = self._state.term
        if not may:
            return "the publisher did not answer recent calls"
        try:
            connection = self._idle_or_new(queue, messages, answers, now + seconds)
        except (OSError, ValueError) as wrong:
            why = str(wrong)
            self._note_silence(term, now, wrong, why)
            return why
        self._idle.append(connection)
        with self._lock:
            self._state = answered(self._state, term)
        return "the publisher has no room"

    def _note_silence(self, term: int, began: float, wrong: Exception, why: str) -> None:
        """Count a failed call of *term* that *began* then against the publisher, unless there was little time for its answer."""
        now = self._clock.monotonic()
        if isinstance(wrong, TimeoutError) and now - began < _ENOUGH * SHARE * self._patience:
            return
        with self._lock:
            self._state = unanswered(self._state, term, now)
        self._telemetry.log("warning", "the publisher process is away: the program sends itself", socket=self._path, error=why)

    def _idle_or_new(
        self, queue: str, messages: Sequence[Outgoing], answers: dict[int, Refusal | None], until: float
    ) -> PublisherConnection:  # fmt: skip
        """Give the messages to the publisher over an idle connection, or over a new one if a restart of the publisher has closed it."""
        try:
            connection = self._idle.pop()
            connection.exchange(queue, messages, answers, until)
            return connection
        except (IndexError, ConnectionError):
            self._idle.clear()
        connection = self._connected(until)
        left = [index for index in range(len(messages)) if index not in answers]
        found: dict[int, Refusal | None] = {}
        try:
            connection.exchange(queue, [messages[index] for index in left], found, until)
        finally:
            answers |= {left[index]: refusal for index, refusal in found.items()}
        return connection

    def _connected(self, until: float) -> PublisherConnection:
        """Return a new connection.

        Raises:
            ConfigurationError: the publisher serves another deployment.
        """
        connection = PublisherConnection(socket.socket(socket.AF_UNIX), self._clock.monotonic)
        info = connection.open(self._path, until)
        if self._deployment and info.deployment != self._deployment:
            connection.close()
            raise ConfigurationError(
                f"SEDANO_PUBLISHER: the publisher at {self._path} serves another deployment than SEDANO_QUEUES names; start it with the "
                "variables of the same `sedano outputs`"
            )
        return connection

    def _sent_alone(self, queue: str, messages: Sequence[Outgoing], why: str) -> Answers:
        """Send *messages* without the publisher, which has not answered because of *why*."""
        try:
            return self._others().send(queue, messages)
        except Unavailable as away:
            return [Unavailable(f"publisher: {why}; {away}")] * len(messages)


def _is_carried(queue: str, messages: Sequence[Outgoing]) -> bool:
    """Return whether lines of the protocol can carry *messages*."""
    if is_fifo(queue) or not (queue == EVENTS or queue.startswith(COMMANDS)) or not travels(queue):
        return False
    for message in messages:
        if message.attributes or message.serial_key is not None or message.once:
            return False
        if message.tenant is not None and not travels(message.tenant):
            return False
    return True
