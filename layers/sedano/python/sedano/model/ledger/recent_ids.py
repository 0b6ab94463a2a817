"""The idempotent receiver's window: the ids of the messages that this worker finished most recently.

An exact copy of a message that this worker already finished is discarded with a warning, without a call (CEP: "A Worker is also an
Idempotent Receiver … by default that value is 100 messages"; Hohpe and Woolf, Idempotent Receiver).
"""

from __future__ import annotations

from collections import OrderedDict


class Window:
    """Remembers the ids of the last *size* finished messages."""

    __slots__ = ("_ids", "size")

    def __init__(self, size: int = 100) -> None:
        """Remember at most *size* ids; 0 remembers none."""
        self.size = size
        self._ids: OrderedDict[str, None] = OrderedDict()

    def __contains__(self, message_id: object) -> bool:
        """Return whether the message was finished recently."""
        return message_id in self._ids

    def add(self, message_id: str) -> None:
        """Remember a finished message as the most recent one, and drop the oldest ids beyond *size*."""
        ids = self._ids
        if message_id in ids:
            ids.move_to_end(message_id)
            return
        ids[message_id] = None
        if len(ids) > self.size:
            ids.popitem(last=False)
