"""Limits in the tables `line`, `permit`, `latest` and `basket`: the writes of `sedano.aws.expressions.limits`, with the same conjuncts.

The attributes of a board that have a permit's number are a row of `permit`; its list `queued`, and the line of a name, are the rows of
`waiting`. The entries of a basket are rows, in order.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from sedano.model import collection as holding
from sedano.model.collection import MOST_BASKET_BYTES, Basket, Latest
from sedano.model.ledger.records import RECORD_LIFETIME_S
from sedano.model.limits import rate as rates
from sedano.model.limits.concurrency import BOARD_SIZE, GUARD_MS, Board, BoardChanged, Permit
from sedano.model.limits.rate import Line, LineChanged, Paces
from sedano.sqlite.store import Store
from sedano.sqlite.wait_lists import WAITING, called, left, lined_up, waits

LIFETIME_S = 8 * 86_400
"""How long an ended permit is kept: a permit's token must outlive every request that was sent under it."""
PLACE, LINE = "board:", "line:"
BEGIN = """
INSERT INTO line (base, taken, t0, t1, t2, nonce, ttl, name) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET base = excluded.base, taken = excluded.taken, t0 = excluded.t0, t1 = excluded.t1, t2 = excluded.t2,
    nonce = excluded.nonce, ttl = excluded.ttl
WHERE t0 <= ? AND t1 <= ? AND t2 <= ?"""
TURN = """
UPDATE line SET base = ?, taken = ?, t0 = ?, t1 = ?, t2 = ?, nonce = ?, ttl = ? WHERE name = ? AND nonce = ? AND taken = ?"""
JOIN = """
UPDATE line SET taken = taken + ?, t0 = t0 + ?, t1 = t1 + ?, t2 = t2 + ?, ttl = ? WHERE name = ? AND (t0 > ? OR t1 > ? OR t2 > ?)"""
_LINE = "SELECT base, taken, t0, t1, t2, nonce FROM line WHERE name = ?"
TAKE_PERMIT = """
INSERT INTO permit (board, number, token, nonce, owner, expires, ttl) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET token = excluded.token, nonce = excluded.nonce, owner = excluded.owner, expires = excluded.expires, kept = '',
    ttl = excluded.ttl
WHERE (expires <= ? OR (kept = ? AND kept <> '')) AND token < excluded.token"""
GIVE_BACK = "UPDATE permit SET expires = 0 WHERE board = ? AND number = ? AND nonce = ? AND token = ?"
AWAIT_PERMIT = "SELECT 1 FROM permit WHERE board = ? AND number = ? AND token = ? AND expires > ?"
_MINE = "SELECT 1 FROM permit WHERE board = ? AND number = ? AND nonce = ? AND token = ?"
CALL_NEXT = "UPDATE permit SET expires = ?, kept = ? WHERE board = ? AND number = ?"
KEEP = "UPDATE permit SET expires = ?, kept = ? WHERE board = ? AND number = ? AND nonce = ? AND token = ?"
_BOARD = f"""
SELECT (SELECT json_group_array(json_array(number, token, nonce, owner, expires, kept))
    FROM (SELECT * FROM permit WHERE board = ? AND number >= ? AND number < ? ORDER BY number)), {WAITING}"""  # noqa: S608 - our own words
LATEST = """
INSERT INTO latest VALUES (?, ?, ?, ?)
ON CONFLICT DO UPDATE SET clock = excluded.clock, task = excluded.task, ttl = excluded.ttl WHERE clock < excluded.clock"""
_LATEST = "SELECT clock, task FROM latest WHERE name = ?"
PUT = """
INSERT INTO basket VALUES (?, 0, ?, ?, ?)
ON CONFLICT DO UPDATE SET number = number + excluded.number, bytes = bytes + excluded.bytes, ttl = excluded.ttl
WHERE NOT shut AND number <= ? AND bytes <= ?"""
_ENTRY = "INSERT INTO basket_entry (basket, entry) VALUES (?, ?)"
SHUT = "INSERT INTO basket VALUES (?, 1, 0, 0, ?) ON CONFLICT DO UPDATE SET shut = 1, ttl = excluded.ttl"
_SHUT = "SELECT shut FROM basket WHERE name = ?"
_ENTRIES = "SELECT entry FROM basket_entry WHERE basket = ? ORDER BY seq"


class SqliteLimits:
    """The lines, permits, latest calls and baskets of one deployment over one SQLite file."""

    def __init__(self, store: Store) -> None:
        """Use *store*; nothing is opened yet."""
        self._store = store

    def begin(self, name: str, line: Line, limits: Paces) -> LineChanged:
        """Put *line* if the name has no line, or a line whose turns are all over."""
        return self._set(BEGIN, name, line, (rates.idle_before(limits, line.base),) * rates.MOST_PACES)

    def turn(self, name: str, line: Line, seen: Line) -> LineChanged:
        """Replace exactly the line that was *seen* by *line*."""
        return self._set(TURN, name, line, (seen.nonce, seen.taken))

    def join(self, name: str, limits: Paces, count: int, now: int) -> LineChanged:
        """Take *count* tickets of a line that is ahead of *now*."""
        steps = _padded([count * pace.every for pace in limits])
        until = _ttl((now + max(steps)) / rates.SECOND)
        with self._store.changing() as database:
            done = database.execute(JOIN, (count, *steps, until, name, *_padded(rates.thresholds(limits, now)))).rowcount
            return LineChanged(bool(done), _line(database.execute(_LINE, (name,)).fetchall(), len(limits)))

    def line(self, name: str, limits: Paces) -> Line | None:
        """Return the line of *name*."""
        return _line(self._store.rows(_LINE, name), len(limits))

    def take(self, name: str, permit: Permit, who: str, now: int) -> BoardChanged:
        """Take *permit* where it is over by *now* (epoch ms), or kept for *who*."""
        values = (name, permit.number, permit.token, permit.nonce, permit.owner, permit.expires, _ttl(permit.expires / 1000))
        with self._store.changing() as database:
            done = database.execute(TAKE_PERMIT, (*values, now - GUARD_MS, who)).rowcount
            board = _board(database, name, permit.number)
        found = board.permits.get(permit.number)
        return BoardChanged(bool(done) or (found is not None and (found.nonce, found.token) == (permit.nonce, permit.token)), board)

    def give_back(self, name: str, permit: Permit) -> BoardChanged:
        """Give back *permit* where it is still its holder's."""
        with self._store.changing() as database:
            done = database.execute(GIVE_BACK, (name, permit.number, permit.nonce, permit.token)).rowcount
            return BoardChanged(bool(done), _board(database, name, permit.number))

    def wait(self, name: str, seen: Permit, message: str, now: int) -> BoardChanged:
        """Leave *message* to be woken, where *seen* is still held at *now* and there is room."""
        with self._store.changing() as database:
            held = database.execute(AWAIT_PERMIT, (name, seen.number, seen.token, now)).fetchall()
            done = bool(held) and waits(database, _place(name, seen.number), message)
            return BoardChanged(done, _board(database, name, seen.number))

    def call(self, name: str, permit: Permit, first: str, who: str, until: int) -> BoardChanged:
        """Remove the message *first*, if it is still the first, and keep *permit*, which was given back, for *who* until *until*."""
        with self._store.changing() as database:
            mine = database.execute(_MINE, (name, permit.number, permit.nonce, permit.token)).fetchall()
            done = bool(mine) and called(database, _place(name, permit.number), first)
            if done:
                database.execute(CALL_NEXT, (until, who, name, permit.number))
            return BoardChanged(done, _board(database, name, permit.number))

    def board(self, name: str) -> Board:
        """Return the first board of *name*."""
        return _read_board(name, self._store.rows(_BOARD, name, 0, BOARD_SIZE, PLACE + name)[0])

    def boards(self, name: str, count: int) -> Board:
        """Return the permits of the first *count* boards of *name*, and the messages in its line."""
        found = _read_board(name, self._store.rows(_BOARD, name, 0, count * BOARD_SIZE, LINE + name)[0])
        return found._replace(waiting=tuple(sorted(found.waiting)))

    def line_up(self, name: str, message: str, now: int) -> bool:
        """Put *message* in the line of *name*, unless ten are there."""
        with self._store.changing() as database:
            return lined_up(database, LINE + name, message)

    def leave_line(self, name: str, message: str) -> bool:
        """Take *message* out of the line of *name*; return whether it was there."""
        with self._store.changing() as database:
            return left(database, LINE + name, message)

    def keep(self, name: str, permit: Permit, who: str, until: int) -> bool:
        """Keep *permit*, which was given back, for *who* until *until*."""
        with self._store.changing() as database:
            return bool(database.execute(KEEP, (until, who, name, permit.number, permit.nonce, permit.token)).rowcount)

    def note(self, name: str, call: Latest, now: float) -> Latest:
        """Note *call* unless a later one is noted, and return the latest."""
        with self._store.changing() as database:
            database.execute(LATEST, (name, call.clock, call.task_id, _ttl(now)))
            return Latest(*database.execute(_LATEST, (name,)).fetchall()[0])

    def latest(self, name: str) -> Latest | None:
        """Return the latest call."""
        return next((Latest(*row) for row in self._store.rows(_LATEST, name)), None)

    def put(self, name: str, entries: Sequence[str], most: int, now: float) -> Basket | None:
        """Put *entries* into the basket *name* of at most *most* calls and return it; None when it is shut or has no room for them."""
        number, size = len(entries), sum(len(entry.encode()) for entry in entries)
        room = (most - number, MOST_BASKET_BYTES - size)
        with self._store.changing() as database:
            done = database.execute(PUT, (name, number, size, _ttl(now + RECORD_LIFETIME_S), *room)).rowcount
            if done:
                database.executemany(_ENTRY, [(name, entry) for entry in entries])
            found = _basket(database, name)
        return found if done or holding.holds(found, entries) else None

    def shut(self, name: str, now: float) -> Basket:
        """Shut the basket and return what is in it."""
        with self._store.changing() as database:
            database.execute(SHUT, (name, _ttl(now + RECORD_LIFETIME_S)))
            return _basket(database, name)

    def _set(self, statement: str, name: str, line: Line, sight: tuple[Any, ...]) -> LineChanged:
        values = (line.base, line.taken, *_padded(line.turns), line.nonce, _ttl(max(line.turns) / rates.SECOND), name)
        with self._store.changing() as database:
            done = database.execute(statement, (*values, *sight)).rowcount
            found = _line(database.execute(_LINE, (name,)).fetchall(), len(line.turns))
        return LineChanged(bool(done) or (found is not None and found.nonce == line.nonce), found)


def _ttl(until: float) -> int:
    return int(until) + LIFETIME_S


def _padded(numbers: Sequence[int]) -> list[int]:
    """Return *numbers* padded to the number of turns of a line: a repeated pace changes nothing."""
    return [*numbers, *(numbers[0] for _ in range(rates.MOST_PACES - len(numbers)))]


def _line(rows: Sequence[Sequence[Any]], paces: int) -> Line | None:
    return next((Line(row[0], row[1], tuple(row[2 : 2 + paces]), row[5]) for row in rows), None)


def _place(name: str, number: int) -> str:
    """Return where messages wait for the board of *name* that has the permit *number*."""
    first = number // BOARD_SIZE * BOARD_SIZE
    return f"{PLACE}{name}\n{first}" if first else PLACE + name


def _board(database: sqlite3.Connection, name: str, number: int) -> Board:
    """Return the board that has the permit *number*."""
    first = number // BOARD_SIZE * BOARD_SIZE
    return _read_board(name, database.execute(_BOARD, (name, first, first + BOARD_SIZE, _place(name, number))).fetchall()[0])


def _read_board(name: str, row: Sequence[str]) -> Board:
    permits = [Permit(*fields) for fields in json.loads(row[0])]
    return Board(name, {permit.number: permit for permit in permits}, tuple(json.loads(row[1])))


def _basket(database: sqlite3.Connection, name: str) -> Basket:
    entries = [entry for (entry,) in database.execute(_ENTRIES, (name,)).fetchall()]
    return Basket(holding.read(entries), database.execute(_SHUT, (name,)).fetchall() == [(1,)])
