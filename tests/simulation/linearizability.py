"""Is a history of a lease one that a single, atomic lease could have had? (Wing and Gong 1993; Lowe 2017; Herlihy and Wing 1990.)

A history is what its callers saw: each operation with the moments at which it began and was answered. It is
linearizable when the operations can be put in one order, each between its two moments, in which an atomic lease gives
the very answers that were given. An operation without an answer may have happened at any time after it began, or never.
Only callers are believed here, nothing that the store says of itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

NEVER = math.inf


class Operation(NamedTuple):
    """One call: what, under which *nonce* and *token*, when it began and was answered (`NEVER`: not), and whether it was *granted*.

    A take names the token that it *saw* (0: none), and whether that lease was seen as *held*; a deletion by TTL has no nonce. *key* is the
    lease that it is about.
    """

    kind: str
    nonce: str
    token: int
    began: float
    ended: float
    granted: bool = True
    saw: int = 0
    held: bool = False
    key: str = ""


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
    """Tell whether *history* is linearizable: it is when that of each lease by itself is (Herlihy and Wing's locality)."""
    return all(_linearizable(operations) for operations in by_key(history))


def overlapping(history: Sequence[Operation]) -> int:
    """Return how many answered operations began before an earlier one on their lease was answered: with none, an order proves little."""
    found = 0
    for operations in by_key(history):
        busy_until = -math.inf
        for one in operations:
            if one.ended != NEVER and one.kind != "forget":
                found += one.began < busy_until
                busy_until = max(busy_until, one.ended)
    return found


def by_key(history: Sequence[Operation]) -> list[list[Operation]]:
    """Return the operations of each lease in the order in which they began."""
    found: dict[str, list[Operation]] = {}
    for one in sorted(history, key=lambda one: one.began):
        found.setdefault(one.key, []).append(one)
    return list(found.values())


def _linearizable(operations: Sequence[Operation]) -> bool:
    """Look for an order depth first, never twice from the same operations done and the same lease (Lowe's memory)."""
    taken_from = _first_takes(operations)
    overtaken = [taken_from.get(one.token, NEVER) < one.ended for one in operations]
    answered = sum(1 << number for number, one in enumerate(operations) if one.ended != NEVER)
    seen: set[tuple[int, Lease]] = set()
    waiting = [(0, Lease())]
    while waiting:
        done, lease = waiting.pop()
        if done & answered == answered:
            return True
        for number in _next(operations, done):
            for following in after(lease, operations[number], overtaken=overtaken[number]):
                reached = (done | 1 << number, following)
                if reached not in seen:
                    seen.add(reached)
                    waiting.append(reached)
    return False


def _first_takes(operations: Sequence[Operation]) -> dict[int, float]:
    """Return for each token when somebody first began to take the lease that bore it."""
    found: dict[int, float] = {}
    for one in operations:
        if one.kind == "take":
            found.setdefault(one.saw, one.began)
    return found


def _next(operations: Sequence[Operation], done: int) -> list[int]:
    """Return what may come next: what began before any of those that are left was answered.

    The operations are in the order in which they began, so nothing behind the first that began too late can come next either. One that has
    no answer stays a candidate for ever: when it never happened, it is never done.
    """
    found, limit = list[int](), NEVER
    for number in range((~done & (done + 1)).bit_length() - 1, len(operations)):
        if done >> number & 1:
            continue
        one = operations[number]
        if one.began > limit:
            break
        found.append(number)
        limit = min(limit, one.ended)
    return found
