"""The consumers of the queues: counts of `message`, the dead letters, and the limits that were set, in the table `consumer`.

A process that runs workers over the file reads the limit of a queue; a queue has no limit until one is set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sedano.errors import OptionError
from sedano.model.budgets import Load
from sedano.ports import Clock
from sedano.ports.consumers import DeadLetter
from sedano.sqlite.queues import SqliteQueues
from sedano.sqlite.store import Store

LEAST, MOST = 2, 1_000
"""The smallest and the largest limit, as on AWS."""
_LOAD = """
SELECT (SELECT count(*) FROM message WHERE queue = ? AND visible <= ?),
    (SELECT count(*) FROM message WHERE queue = ? AND visible > ? AND receives > 0)"""
_FIRST = "SELECT min(visible) FROM message WHERE queue = ? AND visible <= ?"
_LIMIT = "SELECT most FROM consumer WHERE queue = ?"
_SET = "INSERT INTO consumer VALUES (?, ?) ON CONFLICT DO UPDATE SET most = excluded.most"
_DEAD = "SELECT seq, body, receives, sent FROM dead_letter WHERE queue = ? ORDER BY seq LIMIT ?"


class SqliteConsumers:
    """The consumers of one deployment's *queues* over one SQLite file."""

    def __init__(self, store: Store, clock: Clock, queues: SqliteQueues) -> None:
        """Use *store*; nothing is opened yet."""
        self._store, self._clock, self._queues = store, clock, queues

    def load(self, queue: str) -> Load:
        """Return how many messages wait and could be received, and how many are in flight."""
        self._queues.require(queue)
        now = self._clock.now()
        return Load(*self._store.rows(_LOAD, queue, now, queue, now)[0])

    def ages(self, queues: Sequence[str]) -> Mapping[str, float | None]:
        """Return for how long (s) the message that has waited longest has waited in each of *queues*; 0: none waits."""
        return {queue: self._age(queue) for queue in queues}

    def _age(self, queue: str) -> float:
        self._queues.require(queue)
        now = self._clock.now()
        ((first,),) = self._store.rows(_FIRST, queue, now)
        return 0.0 if first is None else now - float(first)

    def limit(self, queue: str) -> int | None:
        """Return how many invocations *queue* may have at once; None without a limit."""
        self._queues.require(queue)
        return next((most for (most,) in self._store.rows(_LIMIT, queue)), None)

    def set_limit(self, queue: str, limit: int) -> None:
        """Let *queue* have *limit* invocations at once."""
        self._queues.require(queue)
        if not LEAST <= limit <= MOST:
            raise OptionError(f"limit: {limit} is not a whole number from {LEAST} to {MOST}")
        with self._store.changing() as database:
            database.execute(_SET, (queue, limit))

    def dead(self, queue: str, most: int) -> list[DeadLetter]:
        """Return up to *most* dead letters of *queue*, which stay where they are."""
        self._queues.require(queue)
        rows = self._store.rows(_DEAD, queue, most)
        return [DeadLetter(f"m-{seq}", body, receives, sent) for seq, body, receives, sent in rows]
