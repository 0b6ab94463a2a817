"""The attempts of one task, derived from its events: where each ran, how long it waited and ran, and how it ended. Pure.

Events arrive late, twice and in any order; they are sorted by the total order of `sedano.model.history.event_order` first. An attempt
begins with its receipt. A second receipt without an end in between is a separate attempt: the first worker died, or gave the message back.
A receipt that its worker then reports as a copy of a message is not an attempt, and an end that another worker reports again, with the same
clock, is the same end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from sedano.model.history.event_order import Stamp, stamp
from sedano.model.states import state_of

COPY, IN_WINDOW = "message-duplicate", "window"
"""The event of a copy, and how a copy was recognised whose receipt is not reported."""
ENDS = ("succeeded", "failed", "retried", "revoked", "rejected")


class Attempt(NamedTuple):
    """One attempt: its *number*, its *worker*, and the times at which it was *sent*, *received*, *started* and *ended* (epoch s, None: not
    known).

    *state*: its final state, or RECEIVED or STARTED before its end; *error*: the exception that it raised.
    """

    number: int
    worker: str
    state: str
    sent: float | None = None
    received: float | None = None
    started: float | None = None
    ended: float | None = None
    error: str = ""

    @property
    def waited(self) -> float | None:
        """Return the seconds from the publication to the start; None if one of them is unknown, or if clocks disagree."""
        return _between(self.sent if self.sent is not None else self.received, self.started)

    @property
    def ran(self) -> float | None:
        """Return the seconds from the start to the end; None if one of them is unknown, or if clocks disagree."""
        return _between(self.started, self.ended)


def attempts(events: Iterable[Mapping[str, Any]], task_id: str) -> tuple[Attempt, ...]:
    """Return the attempts of the task *task_id* among *events* (decoded JSON), in order; events of other tasks are left out."""
    ordered: dict[Stamp, Mapping[str, Any]] = {}
    for event in events:
        if event.get("uuid") == task_id and (event.get("type") == COPY or str(event.get("type")).startswith("task-")):
            ordered[stamp(event)] = event
    found: list[Attempt] = []
    sent: float | None = None
    ends: set[tuple[int, str]] = set()
    for at, event in sorted(ordered.items(), key=lambda one: one[0]):
        kind = str(event["type"]).removeprefix("task-")
        if kind == "sent":
            sent = at.timestamp
        elif kind == COPY:
            _leave_out(found, at.hostname, event)
        elif kind not in ENDS or (at.clock, kind) not in ends:
            ends.add((at.clock, kind))
            _take(found, kind, at, event, sent)
    return tuple(found)


def _leave_out(found: list[Attempt], worker: str, copy: Mapping[str, Any]) -> None:
    """Take the receipt of a *copy* out of *found*: the last one of *worker* that did not begin."""
    if copy.get("absorbed") in (None, IN_WINDOW):
        return
    begun = state_of("received")
    place = next((place for place in reversed(range(len(found))) if (found[place].worker, found[place].state) == (worker, begun)), None)
    if place is not None:
        del found[place]


def _take(found: list[Attempt], kind: str, at: Stamp, event: Mapping[str, Any], sent: float | None) -> None:
    """Add one event to *found*: it begins an attempt, or completes the last one."""
    if kind == "received":
        retries = event.get("retries")
        number = retries if isinstance(retries, int) else len(found)
        found.append(Attempt(number, at.hostname, state_of(kind), sent=sent, received=at.timestamp))
    elif kind in ("started", *ENDS):
        place = _open(found, at.hostname)
        if place is None:
            place = len(found)
            found.append(Attempt(place, at.hostname, state_of(kind), sent=sent))
        one = found[place]._replace(state=state_of(kind), error=str(event.get("exception") or ""))
        found[place] = one._replace(started=at.timestamp) if kind == "started" else one._replace(ended=at.timestamp)


def _open(found: list[Attempt], worker: str) -> int | None:
    """Return the place of the attempt that *worker* goes on with: its own last one without an end, or else the last of all."""
    own = [place for place, one in enumerate(found) if one.worker == worker and one.ended is None]
    return own[-1] if own else len(found) - 1 if found and found[-1].ended is None else None


def _between(begin: float | None, end: float | None) -> float | None:
    return end - begin if begin is not None and end is not None and begin <= end else None
