"""The latest events of the history in causal order, look by look. A look reads the history of whole days, as `sedano list` does.

The recorder collects events for up to a minute before it writes them, so a later look may find events with smaller clocks than those that
an earlier one returned: they are *late*.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sedano.model.history.event_order import Stamp, stamp
from sedano.ports import Ports

RECORDER_S = 60
"""The most seconds for which the recorder of a deployed stage collects events before it writes them."""
_DAY_S = 86_400.0


class EventLine(NamedTuple):
    """One event: its moment *at* (epoch s), *clock*, *type*, the *id* and *name* of its task, its *worker*; *late*: see the module."""

    at: float
    clock: int
    type: str
    id: str
    name: str
    worker: str
    error: str
    late: bool


class Look(NamedTuple):
    """One look at the history: the new *events*, the number of *objects* that were read, and of their *unreadable* lines."""

    events: tuple[EventLine, ...]
    objects: int
    unreadable: int


class EventTail:
    """Looks at the history of *ports* again and again and returns each event once."""

    def __init__(self, ports: Ports, days: int = 1) -> None:
        """Read the last *days*, today included; nothing is read yet."""
        self._ports, self._days = ports, days
        self._seen: set[Stamp] = set()
        self._latest = 0

    def look(self) -> Look:
        """Read the history; return its new events."""
        now = self._ports.clock.now()
        since = datetime.fromtimestamp(now - (self._days - 1) * _DAY_S, UTC).strftime("%Y-%m-%d")
        blobs = list(self._ports.events.read(since))
        new, unreadable = self._new(line for blob in blobs for line in blob.splitlines())
        ordered = sorted(new)
        events = tuple(_line(at, new[at], late=at.clock < self._latest) for at in ordered)
        self._seen |= new.keys()
        self._latest = max(self._latest, ordered[-1].clock) if ordered else self._latest
        return Look(events, len(blobs), unreadable)

    def _new(self, lines: Iterable[bytes]) -> tuple[dict[Stamp, Mapping[str, Any]], int]:
        """Return the events of *lines* that were not seen before, and the number of unreadable lines."""
        new: dict[Stamp, Mapping[str, Any]] = {}
        unreadable = 0
        for line in lines:
            try:
                event = json.loads(line)
                at = stamp({"uuid": "", **event})  # an event of a worker has no task
            except (ValueError, RecursionError, TypeError):
                unreadable += 1
                continue
            if at not in self._seen:
                new[at] = event
        return new, unreadable


def _line(at: Stamp, event: Mapping[str, Any], *, late: bool) -> EventLine:
    name, error = event.get("name"), event.get("exception")
    return EventLine(
        at=at.timestamp, clock=at.clock, type=at.type, id=at.uuid, name="" if name is None else str(name), worker=at.hostname,
        error="" if error is None else str(error), late=late,
    )  # fmt: skip
