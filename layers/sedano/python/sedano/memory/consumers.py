"""The consumers of the queues, in memory. In a test, the world consumes every message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sedano.memory.queues import MemoryQueues
from sedano.model.budgets import Load
from sedano.ports.consumers import DeadLetter


class MemoryConsumers:
    """The consumers of one deployment's queues, each allowed *limit* invocations at once to begin with."""

    def __init__(self, queues: MemoryQueues, limit: int = 10) -> None:
        """Count the messages of *queues*."""
        self._queues = queues
        self._limits: dict[str, int] = {}
        self._limit = limit
        self.changes = 0

    def load(self, queue: str) -> Load:
        """Return how many messages wait and could be received, and how many are in flight."""
        return self._queues.load(queue)

    def ages(self, queues: Sequence[str]) -> Mapping[str, float | None]:
        """Return for how long (s) the message that has waited longest has waited in each of *queues*; 0: none waits."""
        return {queue: self._queues.age(queue) for queue in queues}

    def limit(self, queue: str) -> int | None:
        """Return how many invocations *queue* may have at once."""
        self._queues.depth(queue)
        return self._limits.get(queue, self._limit)

    def set_limit(self, queue: str, limit: int) -> None:
        """Let *queue* have *limit* invocations at once; *changes* counts the calls."""
        self._queues.depth(queue)
        self._limits[queue] = limit
        self.changes += 1

    def dead(self, queue: str, most: int) -> list[DeadLetter]:
        """Return up to *most* dead letters of *queue*, which stay where they are."""
        letters = self._queues.dead(queue)[:most]
        return [DeadLetter(f"dead-{number}", letter.body) for number, letter in enumerate(letters)]
