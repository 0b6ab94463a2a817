"""The attempts of one task, read off its events: where each ran, how long it waited and ran, and how it ended. Pure.

Events arrive late, twice and in any order; they are sorted by the total order of `sedano.model.history.event_order` first. An attempt
begins with its receipt. A second receipt without an end between is an attempt of its own: its first worker died, or let go of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from sedano.model.history.event_order import Stamp, stamp
from sedano.model.states import state_of

ENDS = ("succeeded", "failed", "retried", "revoked", "rejected")


class Attempt(NamedTuple):
    """One attempt: its *number*, its *worker*, when it was *sent*, *received*, *started* and *ended* (epoch s, None: not known).

    *state*: its end, RECEIVED or STARTED while it has none; *error*: what it raised.
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
        """Return the seconds from the publication to the start; None while one is unknown, or where clocks disagree."""
        return _between(self.sent if self.sent is not None else self.received, self.started)

    @property
    def ran(self) -> float | None:
        """Return the seconds from the start to the end; None while one is unknown, or where clocks disagree."""
        return _between(self.started, self.ended)


def attempts(events: Iterable[Mapping[str, Any]], task_id: str) -> tuple[Attempt, ...]:
    """Return the attempts of the task *task_id* among *events* (decoded JSON), in order; events of other tasks are left out."""
    ordered: dict[Stamp, Mapping[str, Any]] = {}
    for event in events:
        if event.get("uuid") == task_id and str(event.get("type")).startswith("task-"):
            ordered[stamp(event)] = event
    found: list[Attempt] = []
    sent: float | None = None
    for at, event in sorted(ordered.items(), key=lambda one: one[0]):
        kind = str(event["type"]).removeprefix("task-")
        if kind == "sent":
            sent = at.timestamp
        else:
            _take(found, kind, at, event, sent)
    return tuple(found)


def _take(found: list[Attempt], kind: str, at: Stamp, event: Mapping[str, Any], sent: float | None) -> None:
    """Take one event into *found*: it begins an attempt, or says more about the last one."""
    if kind == "received":
        retries = event.get("retries")
        number = retries if isinstance(retries, int) else len(found)
        found.append(Attempt(number, at.hostname, state_of(kind), sent=sent, received=at.timestamp))
    elif kind in ("started", *ENDS):
        if not found or found[-1].ended is not None:
            found.append(Attempt(len(found), at.hostname, state_of(kind), sent=sent))
        last = found[-1]._replace(state=state_of(kind), error=str(event.get("exception") or ""))
        found[-1] = last._replace(started=at.timestamp) if kind == "started" else last._replace(ended=at.timestamp)


def _between(begin: float | None, end: float | None) -> float | None:
    return end - begin if begin is not None and end is not None and begin <= end else None
