"""The rule of the lease: which process may take it, with which token, and how long its holder may believe (PROTOCOLS §2).

Theory. A lease is a lock that expires (Gray and Cheriton 1989). Here it is one item that changes only by compare-and-swap, so for
each fencing token there is at most one holder, whatever clocks, networks and processes do (I1). Time decides only *when* another may take
it. So a wrong clock can cost safety of belief or delay, never the uniqueness of a token; and whatever checks tokens
(`sedano.guards`) is safe under any clock.

Conditions to take it (`decide`):

- it is free: it is absent or was released. A released one may be *reserved* for the process that asked for it first, for a short while.
- its time is over by the store's own clock: `clock.lo > expires + guard`. The clock is an interval (`sedano.model.store_clock`).
- it was seen unchanged (same token, same version) for `duration·(1 + drift)` on the observer's own clock. This needs no other
  clock: the holder's belief began before the request that wrote what was seen. It is the only rule when the interval is suspect.

The grant that is written (`grant`): `token = max(token + 1, clock.hi)`. The clock's part makes the token rise even when the TTL deleted the
item in between. `expires = clock.hi + duration`, never less than the holder's belief.

How long the holder believes (`believes`): until `before the request was sent + duration − guard`, never from the time of the answer: an
answer that took ten seconds would add ten seconds of belief that no other process knows of (KCL, python_dynamodb_lock). It measures elapsed
time as the *greater* of its two clocks, the observer as the lesser. After a freeze it does not believe at all until it has renewed.

Invariants: I1 the token strictly rises. I3 within clock bounds at most one believes. I4 belief ends before the stored expiry. I5 the
expiry never shrinks in a grant. I6 an own write is never misread: it has a nonce drawn for that call.

Faults, and the rule that prevents each:

- A late renewal shortens a newer one: RENEW needs `exp <= :e`.
- An old term releases a new one: RELEASE needs nonce and token.
- A paused holder writes after its time: no lease can prevent it; the resource must check the token (`sedano.guards`).
- A process asks for the lease and dies: the reservation expires.

Theory of the take-over: after faults stop, a waiter holds the lease after `duration + 2·guard + poll` at the latest, counted from its
last renewal or from the waiter's first look, whichever is later. Watching alone gives that: the first look happens within a poll, the last
one when the duration, widened by the drift, has passed since. The store's dates are whole seconds, which may delay the decision by the
clock by a second more; so they only ever let a process in earlier.
"""

from __future__ import annotations

from typing import NamedTuple

from sedano.model.store_clock import DRIFT, Interval, Moment, froze, least, most

GUARD_MS = 1_000
"""How far apart the clocks of the store's own machines may be, and the margin of a holder's belief."""
HAND_OVER_MS = 2_000
"""How long a released lease is kept for the one who asked for it."""
SHORTEST_MS, LONGEST_MS = 2_000, 86_400_000
"""A lease that is shorter than its guards means nothing; one longer than a day would block the others too long after a death."""


class LeaseRecord(NamedTuple):
    """A lease as the store holds it.

    *version* rises with every write by a holder. *expires* is epoch ms; of a released lease it is the end of its reservation for *want*.
    *waiting* are messages that shall be woken when it is released.
    """

    name: str
    token: int
    nonce: str
    owner: str
    version: int
    held: bool
    duration: int
    expires: int
    want: str = ""
    waiting: tuple[str, ...] = ()


class Leased(NamedTuple):
    """The answer to a write: *done* (also when an earlier send of the same write had arrived), and the lease as it is now."""

    done: bool
    record: LeaseRecord | None


class Sight(NamedTuple):
    """A lease as one observer sees it: *record* (None: absent), the same token and version since the moment *since*."""

    record: LeaseRecord | None
    since: Moment


class LeaseDecision(NamedTuple):
    """Whether the lease may be taken, and otherwise after how many ms at the latest it is worth looking again."""

    free: bool
    wait: float = 0.0


class Term(NamedTuple):
    """The holder's view of its own grant. *since* is the moment before the request of the grant or of the latest renewal was sent."""

    name: str
    token: int
    nonce: str
    owner: str
    duration: int
    expires: int
    since: Moment
    wanted: str = ""


FREE = LeaseDecision(True)


def look(known: Sight | None, record: LeaseRecord | None, now: Moment) -> Sight:
    """Return what the observer sees after reading *record* at *now*: unchanged since before, or since now."""
    if known is not None and _mark(known.record) == _mark(record):
        return Sight(record, known.since)
    return Sight(record, now)


def decide(sight: Sight, clock: Interval, now: Moment, asker: str) -> LeaseDecision:
    """Return whether *asker* may take the lease; the write that follows is a compare-and-swap on exactly what was seen."""
    record = sight.record
    if record is None:
        return FREE
    if not record.held:
        reserved = record.want not in ("", asker) and clock.lo <= record.expires
        watched = HAND_OVER_MS * (1 + DRIFT) - least(sight.since, now)
        return LeaseDecision(False, max(1.0, min(watched, record.expires - clock.lo + 1))) if reserved and watched > 0 else FREE
    watched = record.duration * (1 + DRIFT) - least(sight.since, now)
    if watched <= 0:
        return FREE
    if clock.suspect:
        return LeaseDecision(False, watched)
    left = record.expires + GUARD_MS - clock.lo
    return LeaseDecision(False, min(watched, left + 1)) if left >= 0 else FREE


def grant(name: str, owner: str, nonce: str, duration: int, seen: LeaseRecord | None, clock: Interval) -> LeaseRecord:
    """Return the lease as its new holder asks for it."""
    token, version = (seen.token, seen.version) if seen is not None else (0, 0)
    waiting = seen.waiting if seen is not None else ()
    expires = clock.hi + duration
    return LeaseRecord(
        name=name, token=max(token + 1, clock.hi), nonce=nonce, owner=owner, version=version + 1, held=True, duration=duration,
        expires=expires, want="", waiting=waiting,
    )  # fmt: skip


def term(record: LeaseRecord, since: Moment) -> Term:
    """Return the term of the holder whose grant or renewal *record* is; its request was not sent before *since*."""
    return Term(
        name=record.name, token=record.token, nonce=record.nonce, owner=record.owner, duration=record.duration, expires=record.expires,
        since=since, wanted=record.want,
    )  # fmt: skip


def renewed_until(held: Term, clock: Interval) -> int:
    """Return the expiry that a renewal writes: never less than what is written already."""
    return max(held.expires, clock.hi + held.duration)


def believes(held: Term, now: Moment) -> bool:
    """Return whether the holder may assume that no other process holds the lease."""
    return remaining(held, now) > 0 and not froze(held.since, now)


def remaining(held: Term, now: Moment) -> float:
    """Return for how many ms more the holder may believe."""
    return max(0.0, held.duration - GUARD_MS - most(held.since, now))


def is_mine(record: LeaseRecord | None, nonce: str, token: int) -> bool:
    """Return whether *record* has the mark of the holder with this nonce and token: the own-write rule."""
    return record is not None and (record.nonce, record.token) == (nonce, token)


def _mark(record: LeaseRecord | None) -> tuple[int, int] | None:
    return (record.token, record.version) if record is not None else None
