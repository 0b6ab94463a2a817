"""Timers in the table `timer`: the message of each is in its queue from the start and becomes visible when the timer fires.

So no process has to run at that moment; the next receiver finds the message. A timer no longer exists once it has fired.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from sedano.model.queues import is_fifo
from sedano.model.timers import Foreign, Timer, sealed
from sedano.ports import Clock
from sedano.sqlite.queues import SEND, SqliteQueues
from sedano.sqlite.store import Store

_FIRED = "DELETE FROM timer WHERE fires <= ?"
_STANDS = "SELECT name, at, queue, body, tenant, seq FROM timer WHERE name = ? AND fires > ?"
_LIST = "SELECT name, at, queue, body, tenant FROM timer WHERE fires > ? ORDER BY at, name"
_SET = "INSERT INTO timer VALUES (?, ?, ?, ?, ?, ?, ?)"
_CANCEL = "DELETE FROM timer WHERE name = ?"
_FORGET = "DELETE FROM message WHERE seq = ?"


class SqliteTimers:
    """The timers of one deployment over one SQLite file, into the *queues* of the same file."""

    def __init__(self, store: Store, clock: Clock, queues: SqliteQueues) -> None:
        """Use *store*; nothing is opened yet."""
        self._store, self._clock, self._queues = store, clock, queues

    def set(self, timer: Timer) -> bool:
        """Send its message at its moment; False when a timer of this name is set already, which stays as it is."""
        self._queues.require(timer.queue)
        now = self._clock.now()
        with self._store.changing() as database:
            database.execute(_FIRED, (now,))
            if database.execute(_STANDS, (timer.name, now)).fetchall():
                return False
            _put(database, timer, now)
            return True

    def edit(self, name: str, at: float) -> bool:
        """Move a timer to *at* (epoch s); False when no timer of this name is set: it has fired, was cancelled, or never existed."""
        now = self._clock.now()
        with self._store.changing() as database:
            found = _taken_away(database, name, now)
            if found is not None:
                _put(database, found._replace(at=at), now)
            return found is not None

    def cancel(self, name: str) -> bool:
        """Delete a timer; False when no timer of this name is set."""
        with self._store.changing() as database:
            return _taken_away(database, name, self._clock.now()) is not None

    def list(self) -> list[Timer]:
        """Return the timers that are set, the next to fire first."""
        return [Timer(*row) for row in self._store.rows(_LIST, self._clock.now())]

    def foreign(self) -> Iterator[Foreign]:
        """Yield nothing: the file has only its own timers."""
        return iter(())


def _taken_away(database: sqlite3.Connection, name: str, now: float) -> Timer | None:
    """Delete the timer of this *name*, and its message, and return it."""
    for *fields, seq in database.execute(_STANDS, (name, now)).fetchall():
        database.execute(_CANCEL, (name,))
        database.execute(_FORGET, (seq,))
        return Timer(*fields)
    return None


def _put(database: sqlite3.Connection, timer: Timer, now: float) -> None:
    """Put the message of *timer* into its queue, as if sent when the timer fires, and note the timer."""
    fires = max(timer.fires, now)
    key = "" if is_fifo(timer.queue) else None
    seq = database.execute(SEND, (timer.queue, fires, fires, key, timer.tenant, "", sealed(timer))).lastrowid
    database.execute(_SET, (timer.name, timer.at, timer.fires, timer.queue, timer.body, timer.tenant, seq))
