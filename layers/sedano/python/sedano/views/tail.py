"""The latest events of the history in causal order, look by look. A look reads the history of whole days, as `sedano list` does.

The recorder collects events for up to a minute before it writes them, so a later look may find events with smaller clocks than those that
an earlier one returned: they are *late*.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from sedano.app import Sedano
from sedano.model.history.event_order import Stamp, stamp
from sedano.views.cluster import first_day
from sedano.views.reader import About, Reader

RECORDER_S = 60
"""The most seconds for which the recorder of a deployed stage collects events before it writes them."""


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
    """One look at the history: the new *events*, the number of *unreadable* lines, and its *about*: the reads with their price."""

    events: tuple[EventLine, ...]
    unreadable: int
    about: About


class EventTail:
    """Looks at the history of *app* again and again and returns each event once."""

    def __init__(self, app: Sedano, days: int = 1) -> None:
        """Read the last *days*, today included; nothing is read yet."""
        self._app, self._days = app, days
        self._seen: set[Stamp] = set()
        self._latest = 0

    def look(self) -> Look:
        """Read the history; return its new events.

        Raises:
            OptionError: the number of days is less than 1.
        """
        reader = Reader(self._app)
        blobs = reader.ports.events.read(first_day(reader.ports, self._days))
        new, unreadable = self._new(line for blob in blobs for line in blob.splitlines())
        ordered = sorted(new)
        events = tuple(_line(at, new[at], late=at.clock < self._latest) for at in ordered)
        self._seen |= new.keys()
        self._latest = max(self._latest, ordered[-1].clock) if ordered else self._latest
        return Look(events, unreadable, reader.about())

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
