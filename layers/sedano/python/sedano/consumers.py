"""The port of what consumes command queues: how much there is to do, how much is done at once, what was given up. One of `sedano.ports`.

For people and for the controller; no worker asks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from sedano.model.budget import Load
    from sedano.ports import Delivery


class Consumers(Protocol):
    """What consumes the command queues, by the queue's key. An unknown one raises `UnknownQueue`."""

    def load(self, queue: str) -> Load:
        """Return how many messages wait and could be received, and how many were received and are not deleted yet; both approximate."""

    def limit(self, queue: str) -> int | None:
        """Return how many invocations *queue* may have at once; None when nothing is known of its consumer."""

    def set_limit(self, queue: str, limit: int) -> None:
        """Let *queue* have *limit* invocations at once (2 to 1 000); `ConfigurationError` when nothing is known of its consumer."""

    def dead(self, queue: str, most: int) -> list[Delivery]:
        """Return up to *most* dead letters of *queue*, which stay where they are."""
