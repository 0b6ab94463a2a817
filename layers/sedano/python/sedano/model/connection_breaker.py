"""The breaker of a connection: after a call without an answer the next one fails at once, until one probe was answered. Pure.

A connection is a client of one service in one process. Its breaker says when a call may go out; time is monotonic and an argument.

- *Closed* (`trips` = 0): every call goes out.
- A call without an answer (none within its time, or no connection) *trips* it: it is open for 1 s, and after each further trip for twice
  as long, up to 30 s. While it is open no call goes out.
- Then it is *half-open*: one call, the probe, goes out and the others do not, until the probe has ended or its time is over.
- Any answer to the probe, an error of the service too, closes it. A probe without an answer trips it again.

A call that began under an earlier term changes nothing: each trip, each probe and each closing begins a new term, and a call reports under
the term in which it went out. So ten calls that were under way when the service went silent trip the breaker once, and a late answer to one
of them does not close what opened since. A throttled call was answered: throttling never opens a connection.
"""

from __future__ import annotations

from typing import NamedTuple

SHORTEST_S, LONGEST_S = 1.0, 30.0
"""How long a connection stays open after its first trip, and at most."""


class Connection(NamedTuple):
    """A breaker: its *term*, the *trips* since the last answer, open *until* then, with a *probe* under way until then at most."""

    term: int = 0
    trips: int = 0
    until: float = 0.0
    probe: float = 0.0


def admitted(seen: Connection, now: float, patience: float) -> tuple[bool, Connection]:
    """Return whether a call that waits for *patience* seconds may go out at *now*, and the breaker with it under way."""
    if not seen.trips:
        return True, seen
    if now < max(seen.until, seen.probe):
        return False, seen
    return True, seen._replace(term=seen.term + 1, probe=now + patience)


def answered(seen: Connection, term: int) -> Connection:
    """Return the breaker after an answer to a call that went out in *term*."""
    return Connection(seen.term + 1) if seen.trips and term == seen.term else seen


def unanswered(seen: Connection, term: int, now: float) -> Connection:
    """Return the breaker after a call of *term* that ended at *now* without an answer."""
    if term != seen.term:
        return seen
    trips = seen.trips + 1
    return Connection(seen.term + 1, trips, now + pause_after(trips))


def pause_after(trips: int) -> float:
    """Return for how many seconds a connection is open after so many *trips* in a row."""
    return float(min(LONGEST_S, SHORTEST_S * 2.0 ** min(trips - 1, 10)))
