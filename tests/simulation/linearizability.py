"""Is a history of a lease one that a single, atomic lease could have had? (Wing and Gong 1993; Lowe 2017; Herlihy and Wing 1990.)

A history is what its callers saw: each operation with the moments at which it began and was answered. It is
linearizable when the operations can be put in one order, each between its two moments, in which an atomic lease gives
the very answers that were given. An operation without an answer may have happened at any time after it began, or never.
Only callers are believed here, nothing that the store says of itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

NEVER = math.inf


class Operation(NamedTuple):
    """One call: what, under which *nonce* and *token*, when it began and was answered (`NEVER`: not), and whether it was *granted*.

    A take names the token that it *saw* (0: none), and whether that lease was seen as *held*; a deletion by TTL has no nonce.
    """

    kind: str
    nonce: str
    token: int
    began: float
    ended: float
    granted: bool = True
    saw: int = 0
    held: bool = False


class Lease(NamedTuple):
    """An atomic lease."""

    token: int = 0
    nonce: str = ""
    held: bool = False


def after(lease: Lease, one: Operation, *, overtaken: bool) -> list[Lease]:
    """Return the leases that may be after *one*; none when an atomic lease would not have answered so.

    *overtaken*: somebody took what *one* left before it was answered. Then a refusal may be that of its repetition: the
    first sending had taken effect and its answer was lost.
    """
    mine = (lease.token, lease.nonce) == (one.token, one.nonce)
    if one.kind == "take":
        taken = [Lease(one.token, one.nonce, True)] if lease.token == one.saw and one.token > lease.token else []
        if one.granted:
            return [lease] if mine and lease.held else taken
        changed = lease.token != one.saw or one.held
        return ([lease] if changed and not (mine and lease.held) else []) + (taken if overtaken else [])
    if one.kind == "renew":
        return [lease] if one.granted == (mine and lease.held) else []
    if one.kind == "release":
        given = [lease._replace(held=False)] if mine else []
        if one.granted:
            return given
        return ([] if mine and lease.held else [lease]) + (given if overtaken else [])
    return [] if lease.held else [Lease()]


def linearizable(history: Sequence[Operation]) -> bool:
    """Tell whether *history* is linearizable."""
    operations = sorted(history, key=lambda one: one.began)
    overtaken = [_overtaken(one, operations) for one in operations]
    answered = sum(1 << number for number, one in enumerate(operations) if one.ended != NEVER)
    seen: set[tuple[int, Lease]] = set()
    waiting = [(0, Lease())]
    while waiting:
        done, lease = waiting.pop()
        if done & answered == answered:
            return True
        for number in _next(operations, done):
            one = operations[number]
            following = after(lease, one, overtaken=overtaken[number])
            for reached in [lease, *following] if one.ended == NEVER else following:
                if (done | 1 << number, reached) not in seen:
                    seen.add((done | 1 << number, reached))
                    waiting.append((done | 1 << number, reached))
    return False


def _overtaken(one: Operation, operations: Sequence[Operation]) -> bool:
    return any(other.kind == "take" and other.saw == one.token and other.began < one.ended for other in operations)


def _next(operations: Sequence[Operation], done: int) -> Iterator[int]:
    """Yield what may come next: what began before any of those that are left was answered."""
    left = [number for number in range(len(operations)) if not done >> number & 1]
    limit = min((operations[number].ended for number in left), default=NEVER)
    for number in left:
        if operations[number].began > limit:
            return
        yield number
