"""Acknowledging the messages of many lanes: a lane that finds another one at it adds its messages to the next call.

No lane waits to make a call larger; while one call is under way, the messages of the others gather. So a busy process deletes ten messages
with one call, and an idle one deletes a message at once.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from sedano.errors import SedanoError
from sedano.ports import Delivery, Ports


class Acknowledging:
    """Deletes the finished messages of one process."""

    def __init__(self, ports: Ports) -> None:
        """Delete from the queues of *ports*."""
        self._ports = ports
        self._gathered: dict[str, list[Delivery]] = {}
        self._gathering, self._sending = threading.Lock(), threading.Lock()

    def delete(self, deliveries: Sequence[Delivery]) -> None:
        """Delete *deliveries*, with those that other lanes have handed over; return when that is done.

        A message that cannot be deleted is delivered again, and found finished: that is logged.
        """
        with self._gathering:
            for delivery in deliveries:
                self._gathered.setdefault(delivery.queue, []).append(delivery)
        with self._sending:
            with self._gathering:
                taken, self._gathered = self._gathered, {}
            for finished in taken.values():
                try:
                    self._ports.queues.delete(finished)
                except SedanoError as error:
                    words = "finished messages were not deleted; they are delivered again"
                    self._ports.telemetry.log("warning", words, messages=len(finished), error=str(error))
