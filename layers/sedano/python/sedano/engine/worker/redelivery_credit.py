"""Messages that a worker gave back on purpose: those receipts show nothing about the message, so they do not count towards poison.

Kept in memory only: if a poison message kills the worker, the counts are lost, and its receipts count in full.
"""

from __future__ import annotations

from collections.abc import Iterable

from sedano.ports import Delivery

MOST = 1_000
"""Messages remembered; the ones given back least recently are forgotten first."""


class Spared:
    """Counts how often each message was given back."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        """Start without messages."""
        self._counts: dict[str, int] = {}

    def add(self, deliveries: Iterable[Delivery]) -> None:
        """Remember that these were given back."""
        for message_id in {delivery.message_id for delivery in deliveries}:
            self._counts[message_id] = self._counts.pop(message_id, 0) + 1
        while len(self._counts) > MOST:
            del self._counts[next(iter(self._counts))]

    def count(self, delivery: Delivery) -> int:
        """Return how often this worker gave the message back."""
        return self._counts.get(delivery.message_id, 0)
