"""Limits over dicts: the writes of `sedano.aws.expressions.limits`, in Python, under one lock. The oracle of the conformance suites."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from sedano.model import collection as holding
from sedano.model.collection import MOST_BASKET_BYTES, Basket, Latest
from sedano.model.limits import rate as rates
from sedano.model.limits.concurrency import BOARD_SIZE, MOST_WAITING, Board, BoardChanged, Permit, ended
from sedano.model.limits.rate import Line, LineChanged, Paces


class MemoryLimits:
    """Lines, permits, latest calls and baskets by name."""

    def __init__(self) -> None:
        """Start empty."""
        self._lines: dict[str, Line] = {}
        self._boards: dict[tuple[str, int], Board] = {}
        self._waiting: dict[str, set[str]] = {}
        self._latest: dict[str, Latest] = {}
        self._entries: dict[str, list[str]] = {}
        self._shut: set[str] = set()
        self._lock = threading.Lock()

    def begin(self, name: str, line: Line, limits: Paces) -> LineChanged:
        """Write *line* if none exists, or if all turns of the existing one are over."""
        with self._lock:
            found = self._lines.get(name)
            return self._put(name, line, found, found is None or rates.idle(found, limits, line.base))

    def turn(self, name: str, line: Line, seen: Line) -> LineChanged:
        """Replace exactly the line that was *seen* by *line*."""
        with self._lock:
            found = self._lines.get(name)
            same = found is not None and (found.nonce, found.taken) == (seen.nonce, seen.taken)
            return self._put(name, line, found, same)

    def join(self, name: str, limits: Paces, count: int, now: int) -> LineChanged:
        """Take *count* tickets of a line that is ahead of *now*."""
        with self._lock:
            found = self._lines.get(name)
            if found is None or not rates.ahead(found, limits, now):
                return LineChanged(False, found)
            self._lines[name] = rates.joined(found, limits, count)
            return LineChanged(True, self._lines[name])

    def line(self, name: str, limits: Paces) -> Line | None:
        """Return the line of *name*."""
        with self._lock:
            return self._lines.get(name)

    def take(self, name: str, permit: Permit, who: str, now: int) -> BoardChanged:
        """Take *permit* where it is over by *now* (epoch ms), or kept for *who*."""
        with self._lock:
            board = self._board(name, permit.number)
            found = board.permits.get(permit.number)
            if found is None or ((ended(found, now) or (found.kept != "" and found.kept == who)) and found.token < permit.token):
                return self._pin(board, permit)
            return BoardChanged((found.nonce, found.token) == (permit.nonce, permit.token), board)

    def give_back(self, name: str, permit: Permit) -> BoardChanged:
        """Give back *permit* where it is still its holder's."""
        with self._lock:
            board = self._board(name, permit.number)
            found = board.permits.get(permit.number)
            if found is None or (found.nonce, found.token) != (permit.nonce, permit.token):
                return BoardChanged(False, board)
            return self._pin(board, found._replace(expires=0))

    def wait(self, name: str, seen: Permit, message: str, now: int) -> BoardChanged:
        """Leave *message* to be woken, where *seen* is still held at *now* and there is room."""
        with self._lock:
            board = self._board(name, seen.number)
            found = board.permits.get(seen.number)
            if found is None or found.token != seen.token or found.expires <= now or len(board.waiting) >= MOST_WAITING:
                return BoardChanged(False, board)
            return self._set(board._replace(waiting=(*board.waiting, message)), seen.number)

    def call(self, name: str, permit: Permit, first: str, who: str, until: int) -> BoardChanged:
        """Remove the message *first*, if it is still the first, and keep *permit*, which was given back, for *who* until *until*."""
        with self._lock:
            board = self._board(name, permit.number)
            found = board.permits.get(permit.number)
            if found is None or (found.nonce, found.token) != (permit.nonce, permit.token) or board.waiting[:1] != (first,):
                return BoardChanged(False, board)
            return self._pin(board._replace(waiting=board.waiting[1:]), found._replace(expires=until, kept=who))

    def board(self, name: str) -> Board:
        """Return the first board of *name*."""
        with self._lock:
            return self._board(name, 0)

    def boards(self, name: str, count: int) -> Board:
        """Return the permits of the first *count* boards of *name*, and the messages in its line."""
        with self._lock:
            found = [self._board(name, number * BOARD_SIZE).permits for number in range(count)]
            permits = {number: permit for some in found for number, permit in some.items()}
            return Board(name, permits, tuple(sorted(self._waiting.get(name, ()))))

    def line_up(self, name: str, message: str, now: int) -> bool:
        """Put *message* in the line of *name*, unless ten are there."""
        with self._lock:
            line = self._waiting.setdefault(name, set())
            if message not in line and len(line) >= MOST_WAITING:
                return False
            line.add(message)
            return True

    def leave_line(self, name: str, message: str) -> bool:
        """Take *message* out of the line of *name*; return whether it was there."""
        with self._lock:
            line = self._waiting.get(name, set())
            found = message in line
            line.discard(message)
            return found

    def keep(self, name: str, permit: Permit, who: str, until: int) -> bool:
        """Keep *permit*, which was given back, for *who* until *until*."""
        with self._lock:
            board = self._board(name, permit.number)
            found = board.permits.get(permit.number)
            if found is None or (found.nonce, found.token) != (permit.nonce, permit.token):
                return False
            return self._pin(board, found._replace(expires=until, kept=who)).done

    def note(self, name: str, call: Latest, now: float) -> Latest:
        """Note *call* unless a later one is noted, and return the latest."""
        with self._lock:
            found = self._latest.get(name)
            if found is None or found.clock < call.clock:
                self._latest[name] = call
            return self._latest[name]

    def latest(self, name: str) -> Latest | None:
        """Return the latest call."""
        with self._lock:
            return self._latest.get(name)

    def put(self, name: str, entries: Sequence[str], most: int, now: float) -> Basket | None:
        """Put *entries* into the basket *name* of at most *most* calls and return it; None when it is shut or has no room for them."""
        with self._lock:
            kept = self._entries.get(name, [])
            size = sum(len(entry.encode()) for entry in (*kept, *entries))
            if name in self._shut or (kept and (len(kept) + len(entries) > most or size > MOST_BASKET_BYTES)):
                found = Basket(holding.read(kept), name in self._shut)
                return found if holding.holds(found, entries) else None
            self._entries[name] = [*kept, *entries]
            return Basket(holding.read(self._entries[name]))

    def shut(self, name: str, now: float) -> Basket:
        """Shut the basket and return what is in it."""
        with self._lock:
            self._shut.add(name)
            return Basket(holding.read(self._entries.get(name, [])), True)

    def _put(self, name: str, line: Line, found: Line | None, allowed: bool) -> LineChanged:
        if not allowed:
            return LineChanged(found is not None and found.nonce == line.nonce, found)
        self._lines[name] = line
        return LineChanged(True, line)

    def _board(self, name: str, number: int) -> Board:
        """Return the board of *name* that has the permit *number*."""
        return self._boards.get((name, number // BOARD_SIZE)) or Board(name)

    def _pin(self, board: Board, permit: Permit) -> BoardChanged:
        return self._set(board._replace(permits={**board.permits, permit.number: permit}), permit.number)

    def _set(self, board: Board, number: int) -> BoardChanged:
        self._boards[board.name, number // BOARD_SIZE] = board
        return BoardChanged(True, board)
