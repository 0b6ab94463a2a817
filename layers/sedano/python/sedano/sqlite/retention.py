"""Deletes expired rows, as the TTL of a table, the retention of a queue and the lifecycle of a bucket do on AWS.

A deployment over a file has no background process, so each process that receives does this, once an hour and a few rows at a time: it finds
old rows without a lock, and deletes them in one short transaction for each kind, which checks their age again. Worker events are not
deleted. The file does not shrink; its free pages are used again.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from sedano.sqlite.store import Store

EVERY_S = 3_600.0
"""The interval between two sweeps of one process, in seconds."""
FIRST_S = 60.0
"""How long a process runs before its first sweep, in seconds."""
AGAIN_S = 1.0
"""The interval before the next sweep, in seconds, if the last one deleted as many rows as it may."""
MOST = 500
"""How many rows of a kind are deleted at once."""
RETENTION_S = 14 * 86_400
"""How long a message is kept in a queue, and among its dead letters, after it was sent."""
BLOB_LIFETIME_S = 60 * 86_400
"""How long a blob is kept after it was last put, as a stage keeps it by default: longer than any record that refers to it."""


class Rule(NamedTuple):
    """The statements of one table: *find* the keys of at most so many rows of that age or older; *delete* one, if it still has that age."""

    find: str
    delete: str
    age: float = 0.0


RULES = (
    Rule("SELECT id FROM task WHERE ttl <= ? LIMIT ?", "DELETE FROM task WHERE id = ? AND ttl <= ?"),
    Rule("SELECT id FROM chord WHERE ttl <= ? LIMIT ?", "DELETE FROM chord WHERE id = ? AND ttl <= ?"),
    Rule(
        "SELECT chord, node FROM arrival GROUP BY chord, node HAVING max(ttl) <= ? LIMIT ?",
        "DELETE FROM arrival WHERE chord = ?1 AND node = ?2 AND NOT EXISTS "
        "(SELECT 1 FROM arrival WHERE chord = ?1 AND node = ?2 AND ttl > ?3)",
    ),
    Rule("SELECT name FROM member WHERE ttl <= ? LIMIT ?", "DELETE FROM member WHERE name = ? AND ttl <= ?"),
    Rule("SELECT name FROM rollup WHERE ttl <= ? LIMIT ?", "DELETE FROM rollup WHERE name = ? AND ttl <= ?"),
    Rule("SELECT id FROM flow_run WHERE ttl <= ? LIMIT ?", "DELETE FROM flow_run WHERE id = ? AND ttl <= ?"),
    Rule("SELECT name FROM lease WHERE ttl <= ? LIMIT ?", "DELETE FROM lease WHERE name = ? AND ttl <= ?"),
    Rule("SELECT id FROM election WHERE ttl <= ? LIMIT ?", "DELETE FROM election WHERE id = ? AND ttl <= ?"),
    Rule("SELECT name FROM line WHERE ttl <= ? LIMIT ?", "DELETE FROM line WHERE name = ? AND ttl <= ?"),
    Rule("SELECT board, number FROM permit WHERE ttl <= ? LIMIT ?", "DELETE FROM permit WHERE board = ? AND number = ? AND ttl <= ?"),
    Rule("SELECT name FROM latest WHERE ttl <= ? LIMIT ?", "DELETE FROM latest WHERE name = ? AND ttl <= ?"),
    Rule("SELECT name FROM basket WHERE ttl <= ? LIMIT ?", "DELETE FROM basket WHERE name = ? AND ttl <= ?"),
    Rule("SELECT seq FROM message WHERE sent <= ? LIMIT ?", "DELETE FROM message WHERE seq = ? AND sent <= ?", RETENTION_S),
    Rule("SELECT seq FROM dead_letter WHERE sent <= ? LIMIT ?", "DELETE FROM dead_letter WHERE seq = ? AND sent <= ?", RETENTION_S),
    Rule("SELECT digest FROM blob WHERE kept <= ? LIMIT ?", "DELETE FROM blob WHERE digest = ? AND kept <= ?", BLOB_LIFETIME_S),
)
LEFT_BEHIND = (
    "DELETE FROM candidate WHERE election NOT IN (SELECT id FROM election)",
    "DELETE FROM basket_entry WHERE basket NOT IN (SELECT name FROM basket)",
    """DELETE FROM waiting WHERE place NOT IN (SELECT 'lease:' || name FROM lease
        UNION SELECT 'board:' || board FROM permit UNION SELECT 'line:' || board FROM permit
        UNION SELECT 'board:' || board || char(10) || number / 10 * 10 FROM permit)""",
)
"""Deletes rows whose owner no longer exists."""


class Sweeper:
    """Sweeps one file from time to time, for one process."""

    def __init__(self, store: Store) -> None:
        """Set the moment of the first sweep."""
        self._store, self._next = store, inf

    def look(self, now: float) -> None:
        """Sweep if it is due at *now* (epoch s). The time is noted first, so that only one of several threads sweeps."""
        if self._next > now + EVERY_S:  # never before, or the clock was set back
            self._next = now + FIRST_S
        if now >= self._next:
            self._next = now + EVERY_S
            self._next = now + (AGAIN_S if sweep(self._store, now) else EVERY_S)


def sweep(store: Store, now: float) -> bool:
    """Delete rows that have expired by *now* (epoch s), a limited number of each kind; return whether there may be more."""
    full = False
    for rule in RULES:
        keys = store.rows(rule.find, now - rule.age, MOST)
        if keys:
            with store.changing() as database:
                database.executemany(rule.delete, [(*key, now - rule.age) for key in keys])
        full = full or len(keys) == MOST
    with store.changing() as database:
        for statement in LEFT_BEHIND:
            database.execute(statement)
    return full
