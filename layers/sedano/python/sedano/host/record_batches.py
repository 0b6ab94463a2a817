"""The lines of the history of many lanes, sent together: a lane that finds another one at it adds its messages to the next call.

While one call is under way, the messages of the others gather, and while calls are short the next one waits a moment for more
(`sedano.host.gathered_calls`). Each lane goes on when its own messages have their answers, so nothing is acknowledged before its history is
sent, and nothing is left to send when the lanes have ended.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from sedano.errors import SedanoError
from sedano.host.gathered_calls import GatheredCalls
from sedano.ports import RECORDS, Delivery, Outgoing, Queues


class _Handed:
    """The messages of one call of one lane, and their answers, or the error of the call."""

    __slots__ = ("answers", "error", "messages")

    def __init__(self, messages: Sequence[Outgoing]) -> None:
        self.messages = messages
        self.answers: list[SedanoError | None] | None = None
        self.error: Exception | None = None


class RecordBatches:
    """The queues of a process, whose lanes send to `RECORDS` together; everything else goes through as it is."""

    def __init__(self, queues: Queues, calls: GatheredCalls | None = None) -> None:
        """Send by *queues*. *calls*: which calls wait for other lanes; None: no call."""
        self._queues, self.bounds, self._calls = queues, queues.bounds, calls or GatheredCalls()
        self._gathered: list[_Handed] = []
        self._sending = threading.Lock()

    def send(self, queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
        """Send *messages*, to `RECORDS` with those that other lanes have handed over; return when they have their answers."""
        if queue != RECORDS:
            return self._queues.send(queue, messages)
        own = _Handed(messages)
        with self._calls.lock:
            self._gathered.append(own)
            self._calls.add()
        with self._sending:
            if own.answers is None and own.error is None:
                self._send()
        if own.error is not None:
            raise own.error
        return own.answers or []

    def receive(self, queue: str, most: int = 10, wait: float = 0.0) -> list[Delivery]:
        """Receive as the queues do."""
        return self._queues.receive(queue, most, wait)

    def delete(self, deliveries: Sequence[Delivery]) -> None:
        """Delete as the queues do."""
        self._queues.delete(deliveries)

    def hold(self, delivery: Delivery, seconds: float) -> None:
        """Hold as the queues do."""
        self._queues.hold(delivery, seconds)

    def _send(self) -> None:
        """Send what was handed over, and give each lane its own answers."""
        with self._calls.lock:
            self._calls.gather()
            taken, self._gathered = self._gathered, []
        try:
            with self._calls.timed():
                answers = self._queues.send(RECORDS, [message for handed in taken for message in handed.messages])
        except Exception as error:  # noqa: BLE001 - each lane that handed messages over raises it again
            for handed in taken:
                handed.error = error
            return
        for handed in taken:
            own = len(handed.messages)
            handed.answers, answers = answers[:own], answers[own:]
