"""The rule of the lease: which process may take it, with which token, and how long its holder may believe that it holds it (PROTOCOLS §2).

Theory. A lease is a lock that expires (Gray and Cheriton 1989). Here it is one item that changes only by compare-and-swap, so each fencing
token has at most one holder, independently of clocks, networks and processes (I1). Time only determines *when* another process may take it.
So a wrong clock can cause a wrong belief or a delay, but never two holders of a token; and a resource that checks tokens (`sedano.guards`)
is safe under any clock.

Conditions to take it (`decide`):

- it is free: it is absent, or was released. A released lease may be *reserved* for a short time for the process that asked for it first.
- it is expired by the store's clock: `clock.lo > expires + guard`. The clock is an interval (`sedano.model.store_clock`).
- it was seen unchanged (same token, same version) for `duration·(1 + drift)` on the observer's own clock. This does not need another clock:
  the holder's belief began before the request that wrote the observed state. If the interval is suspect, only this rule applies.

The grant that is written (`grant`): `token = max(token + 1, clock.hi)`. Because of the clock, the token increases even if the TTL deleted
the item in between. `expires = clock.hi + duration`, which is never earlier than the end of the holder's belief.

How long the holder believes (`believes`): until `before the request was sent + duration − guard`. The time of the response does not count:
a response after ten seconds would add ten seconds of belief that other processes cannot know (KCL, python_dynamodb_lock). The holder
measures elapsed time as the *greater* difference of its two clocks, and the observer as the smaller. After a freeze, the holder does not
believe until it has renewed the lease.

Invariants: I1 the token strictly increases. I3 within the clock bounds, at most one process believes. I4 the belief ends before the stored
expiry. I5 the expiry never decreases within a grant. I6 a process always recognises its own write by a nonce that is unique to the call.

Faults, and the rule that prevents each:

- A late renewal could shorten a newer one: RENEW requires `exp <= :e`.
- An old term could release a new one: RELEASE requires nonce and token.
- A paused holder could write after its lease expired: a lease cannot prevent this; the resource must check the token (`sedano.guards`).
- A process could ask for the lease and die: the reservation expires.

Theory of the take-over: after faults stop, a waiter holds the lease after at most `duration + 2·guard + poll`, counted from the last
renewal or from the waiter's first read, whichever is later. Observation alone guarantees this: the first read happens within a poll, and
the last one when the duration, widened by the drift, has passed since. The dates of the store are whole seconds, which may delay the
decision by the clock by another second; so the rule with the clock can only make a take-over earlier.
"""

from __future__ import annotations

from typing import NamedTuple

from sedano.model.store_clock import DRIFT, Interval, Moment, froze, least, most

GUARD_MS = 1_000
"""The largest difference (ms) of the clocks of the store's machines, and the margin of a holder's belief."""
HAND_OVER_MS = 2_000
"""How long (ms) a released lease is reserved for the process that asked for it."""
MOST_WAITING = 10
"""The most messages that wait to be woken when a lease is released."""
SHORTEST_MS, LONGEST_MS = 2_000, 86_400_000
"""The shortest and the longest duration: a lease must be longer than its guards; one longer than a day would block other processes for too
long after the death of its holder.
"""


class LeaseRecord(NamedTuple):
    """A lease in the store.

    *version* increases with every write by a holder. *expires* is epoch ms; for a released lease it is the end of its reservation for
    *want*. *waiting* are the messages to wake when it is released.
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
    """The answer to a write: *done* (also if an earlier send of the same write succeeded), and the current lease."""

    done: bool
    record: LeaseRecord | None


class Sight(NamedTuple):
    """A lease as one observer sees it: *record* (None: absent), whose token and version are unchanged since *since*."""

    record: LeaseRecord | None
    since: Moment


class LeaseDecision(NamedTuple):
    """Whether the lease may be taken, or else the most ms to wait before the next read."""

    free: bool
    wait: float = 0.0


class Term(NamedTuple):
    """The holder's view of its own grant. *since* is the time before the request of the grant or of the latest renewal was sent."""

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
    """Return the observer's view after reading *record* at *now*: unchanged since *known*, or since *now*."""
    if known is not None and _mark(known.record) == _mark(record):
        return Sight(record, known.since)
    return Sight(record, now)


def decide(sight: Sight, clock: Interval, now: Moment, asker: str) -> LeaseDecision:
    """Return whether *asker* may take the lease; the following write is a compare-and-swap on exactly the observed state."""
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
    """Return the lease that its new holder writes."""
    token, version = (seen.token, seen.version) if seen is not None else (0, 0)
    waiting = seen.waiting if seen is not None else ()
    expires = clock.hi + duration
    return LeaseRecord(
        name=name, token=max(token + 1, clock.hi), nonce=nonce, owner=owner, version=version + 1, held=True, duration=duration,
        expires=expires, want="", waiting=waiting,
    )  # fmt: skip


def term(record: LeaseRecord, since: Moment) -> Term:
    """Return the term of the holder for its grant or renewal *record*; its request was not sent before *since*."""
    return Term(
        name=record.name, token=record.token, nonce=record.nonce, owner=record.owner, duration=record.duration, expires=record.expires,
        since=since, wanted=record.want,
    )  # fmt: skip


def renewed_until(held: Term, clock: Interval) -> int:
    """Return the expiry that a renewal writes, which is never earlier than the stored one."""
    return max(held.expires, clock.hi + held.duration)


def believes(held: Term, now: Moment) -> bool:
    """Return whether the holder may assume that no other process holds the lease."""
    return remaining(held, now) > 0 and not froze(held.since, now)


def remaining(held: Term, now: Moment) -> float:
    """Return for how many more ms the holder may believe."""
    return max(0.0, held.duration - GUARD_MS - most(held.since, now))


def is_mine(record: LeaseRecord | None, nonce: str, token: int) -> bool:
    """Return whether *record* was written by the holder with this nonce and token."""
    return record is not None and (record.nonce, record.token) == (nonce, token)


def _mark(record: LeaseRecord | None) -> tuple[int, int] | None:
    return (record.token, record.version) if record is not None else None
