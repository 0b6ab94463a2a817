"""Messages that wait at a place to be woken, in order, at most ten: the list `queued` of a lease or of a board of permits;
and the line of messages that the boards of one name share."""

from __future__ import annotations

import sqlite3

MOST_WAITING = 10
WAITING = "(SELECT json_group_array(message) FROM (SELECT message FROM waiting WHERE place = ? ORDER BY seq))"
"""The part of a SELECT that reads the messages that wait at a place, as a JSON array."""
_WAIT = "INSERT INTO waiting (place, message) SELECT ?, ? WHERE (SELECT count(*) FROM waiting WHERE place = ?) < ?"
_CALL = "DELETE FROM waiting WHERE seq = (SELECT min(seq) FROM waiting WHERE place = ?) AND message = ?"

_LEAVE = "DELETE FROM waiting WHERE place = ? AND message = ?"
_THERE = "SELECT 1 FROM waiting WHERE place = ? AND message = ?"


def waits(database: sqlite3.Connection, place: str, message: str) -> bool:
    """Leave *message* at *place*; False when there is no room."""
    return bool(database.execute(_WAIT, (place, message, place, MOST_WAITING)).rowcount)


def called(database: sqlite3.Connection, place: str, first: str) -> bool:
    """Remove the message *first*; False when it is not the first at *place*."""
    return bool(database.execute(_CALL, (place, first)).rowcount)


def lined_up(database: sqlite3.Connection, place: str, message: str) -> bool:
    """Leave *message* at *place*, once; False when there is no room."""
    return bool(database.execute(_THERE, (place, message)).fetchall()) or waits(database, place, message)


def left(database: sqlite3.Connection, place: str, message: str) -> bool:
    """Remove *message* from *place*; False when it is not there."""
    return bool(database.execute(_LEAVE, (place, message)).rowcount)
