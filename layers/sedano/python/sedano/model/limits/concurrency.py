"""How many tasks may run at a time: numbered permits; each is a lease with its own fencing token. Pure.

A limit of *n* has the permits 0 to n - 1; a task without a permit waits. There is no counter that a crash could leave wrong: the number of
running tasks is derived from the permits that have not expired. A permit expires with its holder's invocation, so the permit of a dead
holder becomes free. Its token increases with each holder, so that a resource that the tasks share can refuse a late holder: key the guard
by the permit's number (`current().permit`) and pass `current().token` to it. Then never more than *n* writers are accepted.

A lower limit does not revoke permits: a task with a permit above the limit continues, and a permit below it is taken as soon as it is
free. Times are epoch milliseconds.

Ten permits are a board, which is one item of the store: a write costs by the size of its item, so it costs the same for each limit. The
permit *i* is on board *i* // 10. A limit of at most ten has one board, where messages wait too. Those of a higher limit wait in a line of
their own that all its boards share: see `sedano.engine.limits.waiting_line`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

GUARD_MS = 1_000
"""The largest difference of clocks: a permit is taken only after it has been expired for this long."""
RESERVED_MS = 5_000
"""How long a released permit is reserved for the message that was woken for it."""
MOST_PERMITS = 1_000
"""The highest limit: its boards and its line are read with two calls; those of a limit of at most 990 with one."""
MOST_WAITING = 10
"""The most waiting messages that can be woken; further ones retry after their visibility timeout."""
BOARD_SIZE = 10
"""The permits of a board."""


class Permit(NamedTuple):
    """One permit as it was last taken: its *number*, *token*, *nonce* and *owner*, when it *expires*, and the message for which it is
    reserved (*kept*).
    """

    number: int
    token: int
    nonce: str
    owner: str
    expires: int
    kept: str = ""


NO_PERMITS: Mapping[int, Permit] = MappingProxyType({})


class Board(NamedTuple):
    """The permits of one board, or of several of one name, that were ever taken, by number, and the messages that wait for a permit."""

    name: str
    permits: Mapping[int, Permit] = NO_PERMITS
    waiting: tuple[str, ...] = ()


class BoardChanged(NamedTuple):
    """The answer to a write: *done*, or refused; in both cases with the current permits of the board that it changes."""

    done: bool
    board: Board


class Full(NamedTuple):
    """No permit is free; *soonest* is the permit that expires first."""

    soonest: Permit


def boards_of(limit: int, size: int = BOARD_SIZE) -> int:
    """Return the number of boards that a *limit* needs, each with room for *size* permits."""
    return -(-limit // size)


def merged(board: Board, other: Board) -> Board:
    """Return *board* with the permits of *other*: of two entries of one permit, the one of the later holder; of one holder's, *other*'s."""
    new = {n: permit for n, permit in other.permits.items() if n not in board.permits or board.permits[n].token <= permit.token}
    return board._replace(permits={**board.permits, **new})


def outdated(board: Board, now: int) -> int | None:
    """Return which ten permits of the first board's item, after the first ten, are all over and may be removed; None: leave all.

    A version before boards left them: it had all permits of a limit in one item. Their tokens are below *now* by more than clocks differ,
    so a later token, which is at least the time, is higher also without them.
    """
    tens: dict[int, bool] = {}
    for number, permit in sorted(board.permits.items()):
        if number >= BOARD_SIZE:
            over = ended(permit, now) and permit.token < now - GUARD_MS
            tens[number // BOARD_SIZE] = over and tens.get(number // BOARD_SIZE, True)
    return next((ten for ten, over in tens.items() if over), None)


def chosen(board: Board, limit: int, now: int, who: str, unit: float) -> int | Full:
    """Return the number of a free permit below *limit* (above 0); *unit* in [0, 1) chooses one of them. A permit reserved for *who* is
    taken first.
    """
    held: list[Permit] = []
    free: list[int] = []
    for number in range(limit):
        permit = board.permits.get(number)
        if permit is not None and permit.kept == who != "" and permit.expires > now:
            return number
        if permit is None or ended(permit, now):
            free.append(number)
        else:
            held.append(permit)
    return free[int(unit * len(free))] if free else Full(min(held, key=lambda permit: permit.expires))


def ended(permit: Permit, now: int) -> bool:
    """Return whether the permit is expired by every clock within the allowed difference."""
    return permit.expires <= now - GUARD_MS


def is_latest(board: Board, permit: Permit) -> bool:
    """Return whether no other has taken *permit* since, according to *board*."""
    found = board.permits.get(permit.number)
    return found is not None and (found.nonce, found.token) == (permit.nonce, permit.token)


def granted(board: Board, number: int, now: int, until: int, nonce: str, owner: str) -> Permit:
    """Return the permit *number* for *owner* until *until*. Its token is above all earlier tokens, even if the item was deleted in between.
    """
    before = board.permits.get(number)
    return Permit(number, now if before is None else max(now, before.token + 1), nonce, owner, until)


def running(board: Board, now: int) -> list[Permit]:
    """Return the permits that are held at *now*."""
    return [permit for _, permit in sorted(board.permits.items()) if permit.expires > now and not permit.kept]
