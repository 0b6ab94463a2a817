"""The queues in the table `message`. Delay and visibility are one column: the moment from which a message can be received.

A receiver takes the messages that have been visible for longest, by the index (queue, visible), and makes them invisible in the same
transaction. Polling a queue in which no message is visible takes no lock. A receipt is the message's number and how often it was received,
so an old receipt cannot delete or hold a message that was received again since. A receiver moves to `dead_letter` every message that was
received too often and every row that it cannot read; receivers also delete old rows from time to time (`sedano.sqlite.retention`). A FIFO
queue delivers, in the order of numbers, the messages of each key that has no invisible message.

If the clock was set back, messages that were sent or received before would stay hidden for too long. So with its first receipt, and when it
finds that the clock went back, a process searches for messages that were sent or received in the future, and sets these times to the
present; messages of timers keep their moment.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from hashlib import sha256
from math import inf
from typing import Any

from sedano.errors import SedanoError
from sedano.model.order import MAX_RECEIVES
from sedano.model.queues import HOLD_MOST_S, MAX_HOLD_S, SQS, is_fifo, misplaced, objection, unknown_queue
from sedano.ports import PARKED, Clock, Delivery, Outgoing
from sedano.sqlite.retention import Sweeper
from sedano.sqlite.store import Store

POLL_S = 0.02
"""The interval, in seconds, at which a waiting `receive` polls: other processes do not announce what they send."""
COPIES_S = 300.0
"""How long, in seconds, a FIFO queue remembers the messages that it accepted."""
SET_BACK_S = 60.0
"""How many seconds in the future a message must have been sent or received to prove that the clock was set back; a message that is less far
in the future stays hidden only for that long."""
NEVER = 2**62
"""A number of receipts that no message reaches."""

SEND = "INSERT INTO message (queue, visible, sent, serial_key, tenant, attributes, body) VALUES (?, ?, ?, ?, ?, ?, ?)"
_ANY = "SELECT 1 FROM message WHERE queue = ? AND visible <= ? LIMIT 1"
_NEXT = "SELECT * FROM message WHERE queue = ? AND visible <= ? ORDER BY visible, seq LIMIT ?"
_NEXT_IN_ORDER = """
SELECT * FROM message WHERE queue = ? AND serial_key IS NOT NULL
    AND serial_key NOT IN (SELECT serial_key FROM message WHERE queue = ? AND visible > ? AND serial_key IS NOT NULL)
ORDER BY seq LIMIT ?"""
_HIDE = "UPDATE message SET visible = ?, received = ?, receives = receives + 1 WHERE seq = ?"
_BURY = """
INSERT INTO dead_letter SELECT seq, queue, receives, sent, serial_key, tenant, attributes, body FROM message WHERE seq = ?"""
_DROP = "DELETE FROM message WHERE seq = ?"
_DELETE = "DELETE FROM message WHERE seq = ? AND receives = ? AND queue = ?"
_HELD = "SELECT received FROM message WHERE seq = ? AND receives = ? AND queue = ?"
_HOLD = "UPDATE message SET visible = ?, received = min(received, ?) WHERE seq = ?"
_COUNT_LATER = "SELECT count(*) FROM message WHERE queue = ? AND visible > ?"
_FORGET_COPIES = "DELETE FROM taken WHERE until <= ? OR until > ?"
_IS_NEW = "INSERT INTO taken VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
_RECEIVED_LATER = "receives > 0 AND received > ?1"
_SENT_LATER = "receives = 0 AND sent > ?1 AND seq NOT IN (SELECT seq FROM timer)"
_LATER = f"SELECT 1 FROM message WHERE {_RECEIVED_LATER} OR {_SENT_LATER} LIMIT 1"  # noqa: S608 - our own words
_SET_BACK = (
    f"UPDATE message SET visible = visible - received + ?2, received = ?2 WHERE {_RECEIVED_LATER}",  # noqa: S608 - our own words
    f"UPDATE message SET visible = visible - sent + ?2, sent = ?2 WHERE {_SENT_LATER}",  # noqa: S608 - our own words
)


class SqliteQueues:
    """The queues of one deployment over one SQLite file.

    Args:
        store: the file.
        clock: decides what is visible.
        keys: the keys of the queues that exist, such as `commands:default`, `events`.
        visibility: seconds for which a received message stays invisible.
        max_receives: receipts after which the next one makes the message a dead letter; the parked queue keeps its messages, and FIFO
            queues deliver theirs without that limit (`sedano.model.order`).
    """

    bounds = SQS
    """The bounds of SQS, although the file could hold more, so that an app that works over a file works on AWS."""

    def __init__(self, store: Store, clock: Clock, keys: Sequence[str], visibility: float = 30.0, max_receives: int = 25) -> None:
        """Use *store*; nothing is opened yet."""
        self._store, self._clock, self._keys = store, clock, frozenset(keys)
        self._visibility, self._max_receives = visibility, max_receives
        self._sweeper = Sweeper(store)
        self._latest = inf

    def send(self, queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
        """Send all in one transaction; answer None for each that was accepted."""
        self.require(queue)
        answers = [
            objection(message.body, message.delay, message.tenant, message.attributes, self.bounds)
            or misplaced(queue, message.delay, message.serial_key, message.once, self.bounds)
            for message in messages
        ]
        fit = [message for message, answer in zip(messages, answers, strict=True) if answer is None]
        if not fit:
            return answers
        now = self._clock.now()
        with self._store.changing() as database:
            if is_fifo(queue):
                fit = _without_copies(database, queue, fit, now)
            database.executemany(SEND, [_row(queue, message, now) for message in fit])
        return answers

    def receive(self, queue: str, most: int = 10, wait: float = 0.0) -> list[Delivery]:
        """Return up to *most* (at most 10) messages, those that have been visible for longest first, waiting up to *wait* seconds."""
        self.require(queue)
        until = self._clock.monotonic() + wait
        self._sweeper.look(self._clock.now())
        while True:
            now = self._clock.now()
            self._set_back(now)
            found = self._receive(queue, min(most, self.bounds.max_batch), now) if self._shows(queue, now) else []
            left = until - self._clock.monotonic()
            if found or left <= 0:
                return found
            self._clock.sleep(min(POLL_S, left))

    def delete(self, deliveries: Sequence[Delivery]) -> None:
        """Acknowledge these messages; one that was received again since is not deleted by its old receipt."""
        for delivery in deliveries:
            self.require(delivery.queue)
        marks = [mark for mark in map(_mark, deliveries) if mark is not None]
        if marks:
            with self._store.changing() as database:
                database.executemany(_DELETE, marks)

    def hold(self, delivery: Delivery, seconds: float) -> None:
        """Make a received message invisible for *seconds* from now, at most until 12 hours after its receipt."""
        self.require(delivery.queue)
        mark, now = _mark(delivery), self._clock.now()
        whole = -int(-min(max(seconds, 0.0), HOLD_MOST_S) // 1)
        if mark is None:
            return
        with self._store.changing() as database:
            for (received,) in database.execute(_HELD, mark).fetchall():
                while whole and now + whole > received + MAX_HOLD_S:
                    whole //= 2
                database.execute(_HOLD, (now + whole, now, mark[0]))

    def require(self, queue: str) -> None:
        """Raise `UnknownQueue` unless this deployment has *queue*."""
        if queue not in self._keys:
            raise unknown_queue(queue, self._keys)

    def _set_back(self, now: float) -> None:
        """Set the times of messages from the future to *now*, if the clock was set back since the last check of this process, or at its
        first."""
        before, self._latest = self._latest, now
        if now < before - SET_BACK_S and self._store.rows(_LATER, now + SET_BACK_S):
            with self._store.changing() as database:
                for statement in _SET_BACK:
                    database.execute(statement, (now + SET_BACK_S, now))

    def _shows(self, queue: str, now: float) -> bool:
        """Return, without a lock, whether a message can be received."""
        if is_fifo(queue):
            return bool(self._store.rows(_NEXT_IN_ORDER, queue, queue, now, 1))
        return bool(self._store.rows(_ANY, queue, now))

    def _receive(self, queue: str, most: int, now: float) -> list[Delivery]:
        with self._store.changing() as database:
            rows = self._living(database, queue, most, now)
            database.executemany(_HIDE, [(now + self._visibility, now, row[0]) for row in rows])
        return [_delivery(row) for row in rows]

    def _living(self, database: sqlite3.Connection, queue: str, most: int, now: float) -> list[tuple[Any, ...]]:
        """Return the rows of the next messages; a row that was received too often, or cannot be read, becomes a dead letter."""
        limit = MAX_RECEIVES if is_fifo(queue) else NEVER if queue == PARKED else self._max_receives
        while True:
            if is_fifo(queue):
                rows = database.execute(_NEXT_IN_ORDER, (queue, queue, now, most)).fetchall()
            else:
                rows = database.execute(_NEXT, (queue, now, most)).fetchall()
            dead = [(row[0],) for row in rows if row[4] >= limit or not _is_readable(row[8])]
            if not dead:
                return rows
            database.executemany(_BURY, dead)
            database.executemany(_DROP, dead)


def later(store: Store, queue: str, now: float) -> int:
    """Return how many messages of *queue* cannot be received *now* (epoch s), and can later."""
    return int(store.rows(_COUNT_LATER, queue, now)[0][0])


def _without_copies(database: sqlite3.Connection, queue: str, messages: Sequence[Outgoing], now: float) -> list[Outgoing]:
    """Return the messages that *queue* did not accept a short while ago, and remember them."""
    database.execute(_FORGET_COPIES, (now, now + COPIES_S))
    return [
        message
        for message in messages
        if database.execute(_IS_NEW, (queue, message.serial_key or "", _digest(message.once or message.body), now + COPIES_S)).rowcount
    ]


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _row(queue: str, message: Outgoing, now: float) -> tuple[Any, ...]:
    attributes = json.dumps(dict(message.attributes), separators=(",", ":")) if message.attributes else ""
    return queue, now + message.delay, now, message.serial_key, message.tenant, attributes, message.body


def _is_readable(attributes: str) -> bool:
    try:
        return not attributes or isinstance(json.loads(attributes), dict)
    except ValueError:
        return False


def _delivery(row: Sequence[Any]) -> Delivery:
    """Return the message of a row, with the number of earlier receipts."""
    seq, queue, _, _, receives, sent, serial_key, _, attributes, body = row
    return Delivery(
        queue=queue, message_id=f"m-{seq}", receipt=f"m-{seq}#{receives + 1}", body=body, receives=receives + 1, sent=sent,
        attributes=json.loads(attributes) if attributes else {}, serial_key=serial_key or None,
    )  # fmt: skip


def _mark(delivery: Delivery) -> tuple[int, int, str] | None:
    """Return the number and the receipts that *delivery* names, and its queue; None when it is not a receipt of this deployment."""
    number, _, receives = delivery.receipt.removeprefix("m-").partition("#")
    return (int(number), int(receives), delivery.queue) if number.isdecimal() and receives.isdecimal() else None
