"""How many tasks may run at a time: numbered permits, each of them a lease with a fencing token of its own. Pure.

A limit of *n* is the permits 0 to n - 1; a task without one waits. There is no counter that a crash could leave wrong: how many run is
derived from the permits that have not expired. A permit ends with its holder's invocation, so a dead holder's permit expires.
Its token rises with each holder, so that whatever the tasks share can refuse a late one: key the guard by the permit's number
(`current().permit`) and hand it `current().token`. Then no more than *n* writers are ever accepted.

Lowering a limit takes nothing away: who holds a permit above it ends first. Times are epoch milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

GUARD_MS = 1_000
"""The most by which clocks may differ: a permit is not taken before it has been over for so long."""
RESERVED_MS = 5_000
"""For how long a permit that was given back is kept for the message that was woken for it."""
MOST_PERMITS = 1_000
"""The highest limit: all permits of a name are one item, and a refusal brings it along."""
MOST_WAITING = 10
"""How many messages can be woken; further ones retry after their visibility timeout."""


class Permit(NamedTuple):
    """One permit as it was last taken: its *number*, *token*, *nonce* and *owner*, when it *expires*, for whom it is *kept*."""

    number: int
    token: int
    nonce: str
    owner: str
    expires: int
    kept: str = ""


NO_PERMITS: Mapping[int, Permit] = MappingProxyType({})


class Board(NamedTuple):
    """All permits of one name that were ever taken, by number, and the messages that wait for one."""

    name: str
    permits: Mapping[int, Permit] = NO_PERMITS
    waiting: tuple[str, ...] = ()


class BoardChanged(NamedTuple):
    """The answer to a write: *done*, or refused, and the permits as they are now."""

    done: bool
    board: Board


class Full(NamedTuple):
    """No permit is free; *soonest* is the one that ends first."""

    soonest: Permit


def chosen(board: Board, limit: int, now: int, who: str, unit: float) -> int | Full:
    """Return the number of a free permit below *limit* (above 0), any of them by *unit* in [0, 1); one kept for *who* is taken first."""
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
    """Return whether the permit is free by every clock within the difference."""
    return permit.expires <= now - GUARD_MS


def granted(board: Board, number: int, now: int, until: int, nonce: str, owner: str) -> Permit:
    """Return permit *number* for *owner* until *until*: its token is above every one before, also when the item was deleted since."""
    before = board.permits.get(number)
    return Permit(number, max(now, before.token + 1 if before is not None else 0), nonce, owner, until)


def running(board: Board, now: int) -> list[Permit]:
    """Return the permits that are held now."""
    return [permit for _, permit in sorted(board.permits.items()) if permit.expires > now and not permit.kept]
