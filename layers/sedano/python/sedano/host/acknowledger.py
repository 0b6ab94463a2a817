"""Acknowledges the messages of many lanes: while one lane deletes messages, the others hand theirs over to it and continue.

When a call returns, the same lane deletes the messages that were collected meanwhile, and while calls are short it first waits a moment for
more (`sedano.host.gathered_calls`). So a busy process deletes ten messages with one call, and an idle process deletes a message at once.
The lane that deletes ends after the last of them, so when all lanes have ended, all finished messages are deleted. When more than
`MOST_GATHERED` messages wait, the lanes wait too.

A message is handed over after its outcome is recorded. If the process dies before it is deleted, it is delivered again, and the worker then
finds it finished.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from sedano.errors import SedanoError
from sedano.host.gathered_calls import GatheredCalls
from sedano.ports import Delivery, Ports

MOST_GATHERED = 10
"""How many messages may wait for the call under way: those of the next one."""


class Acknowledger:
    """Deletes the finished messages of one process."""

    def __init__(self, ports: Ports, calls: GatheredCalls | None = None) -> None:
        """Delete from the queues of *ports*. *calls*: which calls wait for other lanes; None: no call."""
        self._ports, self._calls = ports, calls or GatheredCalls()
        self._gathered: dict[str, list[Delivery]] = {}
        self._sending = threading.Lock()

    def delete(self, deliveries: Sequence[Delivery]) -> None:
        """Delete *deliveries*, together with those of other lanes, or hand them over to a lane that is deleting.

        A message that cannot be deleted is logged. It is delivered again, and the worker then finds it finished.
        """
        with self._calls.lock:
            for delivery in deliveries:
                self._gathered.setdefault(delivery.queue, []).append(delivery)
            self._calls.add()
        # A lane that hands over after the last look of the one that deletes finds the lock free; else that look finds its messages.
        while (waiting := self._waiting()) and self._sending.acquire(blocking=waiting > MOST_GATHERED):
            try:
                self._send()
            finally:
                self._sending.release()

    def _waiting(self) -> int:
        with self._calls.lock:
            return sum(map(len, self._gathered.values()))

    def _send(self) -> None:
        with self._calls.lock:
            self._calls.gather()
            taken, self._gathered = self._gathered, {}
        for finished in taken.values():
            try:
                with self._calls.timed():
                    self._ports.queues.delete(finished)
            except SedanoError as error:
                words = "finished messages were not deleted; they are delivered again"
                self._ports.telemetry.log("warning", words, messages=len(finished), error=str(error))
