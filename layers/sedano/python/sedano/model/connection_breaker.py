"""The circuit breaker of a connection: after a call without a response, further calls fail at once until a probe gets a response. Pure.

A connection is a client of one service in one process. Its breaker decides when a call may be sent; the time is monotonic and an argument.

- *Closed* (`trips` = 0): every call is sent.
- A call without a response (a timeout, or no connection) *trips* it: it is open for 1 s, and after each further trip for twice as long, up
  to 30 s. While it is open, no call is sent.
- Then it is *half-open*: one call, the probe, is sent. Other calls are not sent until the probe has ended or timed out.
- Any response to the probe, even an error of the service, closes it. A probe without a response trips it again.

A call that began in an earlier term has no effect: each trip, each probe and each closing begins a new term, and a call reports its result
for the term in which it was sent. So if ten calls are in flight when the service stops responding, they trip the breaker once, and a late
response to one of them does not close it. Throttling is a response and never opens a connection.
"""

from __future__ import annotations

from typing import NamedTuple

SHORTEST_S, LONGEST_S = 1.0, 30.0
"""The seconds for which a breaker is open after its first trip, and the maximum."""


class Connection(NamedTuple):
    """A breaker: its *term*, the *trips* since the last response, the end of its open state (*until*), and the latest end of its *probe*.
    """

    term: int = 0
    trips: int = 0
    until: float = 0.0
    probe: float = 0.0


def admitted(seen: Connection, now: float, patience: float) -> tuple[bool, Connection]:
    """Return whether a call with a timeout of *patience* seconds may be sent at *now*, and the breaker with this call in flight."""
    if not seen.trips:
        return True, seen
    if now < max(seen.until, seen.probe):
        return False, seen
    return True, seen._replace(term=seen.term + 1, probe=now + patience)


def answered(seen: Connection, term: int) -> Connection:
    """Return the breaker after a response to a call that was sent in *term*."""
    return Connection(seen.term + 1) if seen.trips and term == seen.term else seen


def unanswered(seen: Connection, term: int, now: float) -> Connection:
    """Return the breaker after a call of *term* that ended at *now* without a response."""
    if term != seen.term:
        return seen
    trips = seen.trips + 1
    return Connection(seen.term + 1, trips, now + pause_after(trips))


def pause_after(trips: int) -> float:
    """Return how many seconds a breaker is open after this number of consecutive *trips*."""
    return float(min(LONGEST_S, SHORTEST_S * 2.0 ** min(trips - 1, 10)))
