"""The port of the queues' consumers: backlog, concurrency and dead letters. One of `sedano.ports`.

Used by people and by the controller, not by workers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sedano.model.budgets import Load


class DeadLetter(NamedTuple):
    """A message that was received too often: the queue's own id, its *body*, how often it was received, when it was sent (epoch s)."""

    message_id: str
    body: str
    receives: int = 0
    sent: float = 0.0


class Consumers(Protocol):
    """The consumers of the command queues, by the queue's key. An unknown one raises `UnknownQueue`."""

    def load(self, queue: str) -> Load:
        """Return how many messages wait and could be received, and how many were received and are not deleted yet; both approximate."""

    def ages(self, queues: Sequence[str]) -> Mapping[str, float | None]:
        """Return for how long (s) the message that has waited longest has waited in each of *queues*; 0: none waits; None: unknown.

        In memory and on SQLite it is exact. On AWS it is CloudWatch's metric, which is minutes late and counts from the sending, also
        for a message that was received and not deleted.
        """

    def limit(self, queue: str) -> int | None:
        """Return how many invocations *queue* may have at once; None when nothing is known of its consumer."""

    def set_limit(self, queue: str, limit: int) -> None:
        """Let *queue* have *limit* invocations at once (2 to 1 000); `ConfigurationError` when nothing is known of its consumer."""

    def dead(self, queue: str, most: int) -> list[DeadLetter]:
        """Return up to *most* dead letters of *queue*, which stay where they are."""
