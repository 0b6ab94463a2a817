"""A backlog in memory: its messages end with the process. For tests, and for programs that ask for it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import NamedTuple

from sedano.errors import BacklogFull
from sedano.model.queues import messages_wait
from sedano.ports import Addressed
from sedano.ports.backlog import MOST, TAKEN_S, Stored, delay_left


class InMemory(NamedTuple):
    """A message, its number *seq*, when it is due (epoch s), how often it was given back, and until when another sender has it."""

    seq: int
    message: Addressed
    due: float
    tries: int = 0
    taken: float = 0.0


class MemoryBacklog:
    """A backlog (`sedano.ports.backlog.Backlog`) of at most *most* messages. Thread-safe."""

    lasts = False

    def __init__(self, most: int = MOST) -> None:
        """Store nothing yet."""
        self._most = most
        self._rows: dict[int | str, InMemory] = {}
        self._numbers = 0
        self._lock = threading.Lock()

    def keep(self, messages: Sequence[Addressed], now: float) -> None:
        """Store all of *messages*, or none.

        Raises:
            BacklogFull: too many messages already wait.
        """
        with self._lock:
            if len(self._rows) + len(messages) > self._most:
                raise BacklogFull(f"{messages_wait(len(self._rows))} in memory already, of at most {self._most}; publish again later")
            for message in messages:
                self._numbers += 1
                self._rows[self._numbers] = InMemory(self._numbers, message, now + message.outgoing.delay)

    def exists(self) -> bool:
        """Return whether messages are stored."""
        return bool(self._rows)

    def take(self, most: int, now: float) -> list[InMemory]:
        """Take up to *most* messages that no other sender has, the oldest first, for a minute."""
        with self._lock:
            free = [row for row in self._rows.values() if not now < row.taken <= now + TAKEN_S]
            found = sorted(free, key=lambda row: (row.tries, row.seq))[:most]
            self._rows |= {row.seq: row._replace(taken=now + TAKEN_S) for row in found}
        return [row._replace(message=_due(row, now)) for row in found]

    def done(self, taken: Sequence[Stored]) -> None:
        """Forget messages that were sent."""
        with self._lock:
            for one in taken:
                self._rows.pop(one.seq, None)

    def give_back(self, taken: Sequence[Stored]) -> None:
        """Leave messages that could not be sent to the next sender, after those that were tried less often."""
        with self._lock:
            rows = [self._rows[one.seq] for one in taken if one.seq in self._rows]
            self._rows |= {row.seq: row._replace(tries=row.tries + 1, taken=0.0) for row in rows}


def _due(row: InMemory, now: float) -> Addressed:
    outgoing = row.message.outgoing
    return row.message._replace(outgoing=outgoing._replace(delay=delay_left(outgoing.delay, row.due, now)))
