"""The port of limits: lines of tickets, permits, the latest calls, baskets. One of `sedano.ports`, in a file that only type checkers load.

Every write is conditional; a refused one answers with what is in the way, so nothing is read twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from sedano.model.collection import Basket, Latest
    from sedano.model.limits.concurrency import Board, BoardChanged, Permit
    from sedano.model.limits.rate import Line, LineChanged, Paces


class Limits(Protocol):
    """The state of rates, permits and baskets, by name. Times of lines are epoch µs, those of permits epoch ms, others epoch s."""

    def begin(self, name: str, line: Line, limits: Paces) -> LineChanged:
        """Write *line* if none exists, or if all turns of the existing one are over."""

    def turn(self, name: str, line: Line, seen: Line) -> LineChanged:
        """Put *line* in the place of exactly the one that was *seen*."""

    def join(self, name: str, limits: Paces, count: int, now: int) -> LineChanged:
        """Take *count* tickets of a line that is ahead of *now*; they are the last of those that the answer says are taken."""

    def line(self, name: str, limits: Paces) -> Line | None:
        """Return the line of *name*, strongly consistent; used by people, not by workers."""

    def take(self, name: str, permit: Permit, who: str, now: int) -> BoardChanged:
        """Take *permit* where it is over by *now*, or kept for *who*."""

    def give_back(self, name: str, permit: Permit) -> BoardChanged:
        """Give back *permit* where it is still its holder's."""

    def wait(self, name: str, seen: Permit, message: str, now: int) -> BoardChanged:
        """Leave *message* (at most ten) to be woken, where *seen* is still held at *now* and there is room."""

    def call(self, name: str, permit: Permit, first: str, who: str, until: int) -> BoardChanged:
        """Take the message *first* off, if it is still the first, and keep *permit*, which was given back, for *who* until *until*."""

    def board(self, name: str) -> Board:
        """Return the first board of *name*, strongly consistent."""

    def boards(self, name: str, count: int) -> Board:
        """Return the permits of the first *count* boards of *name*, and the messages in its line, in the order of their texts.

        Strongly consistent: it has all writes that were answered before it was called.
        """

    def line_up(self, name: str, message: str, now: int) -> bool:
        """Put *message* in the line of *name*, unless ten are there; return whether it is in the line."""

    def leave_line(self, name: str, message: str) -> bool:
        """Take *message* out of the line of *name*; return whether it was there, which is true for one of several callers."""

    def keep(self, name: str, permit: Permit, who: str, until: int) -> bool:
        """Keep *permit*, which was given back, for *who* until *until*; return whether no other had taken it."""

    def note(self, name: str, call: Latest, now: float) -> Latest:
        """Note *call* unless a later one is noted, and return the latest."""

    def latest(self, name: str) -> Latest | None:
        """Return the latest call, strongly consistent."""

    def put(self, name: str, entries: Sequence[str], most: int, now: float) -> Basket | None:
        """Put *entries* into the basket *name* of at most *most* calls and return it; None when it is shut or has no room for them.

        A basket that holds all of them already is returned as well, shut or full: an earlier request put them there.
        """

    def shut(self, name: str, now: float) -> Basket:
        """Shut the basket and return what is in it; it never changes any more."""
