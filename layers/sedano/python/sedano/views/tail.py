"""The latest events of the history in causal order, look by look. A look reads the history of whole days, as `sedano list` does.

The recorder collects events for up to a minute before it writes them, so a later look may find events with smaller clocks than those that
an earlier one returned: they are *late*.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sedano.app import Sedano
from sedano.model.history.event_order import Stamp
from sedano.views.cluster import first_day
from sedano.views.event_lines import event_lines
from sedano.views.reader import About, Reader

RECORDER_S = 60
"""The most seconds for which the recorder of a deployed stage collects events before it writes them."""


MOST = 200
"""How many events a page shows."""


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

    def is_among(self, wanted: Sequence[str]) -> bool:
        """Return whether *wanted* has the type of the event, or the id or name of its task; an empty *wanted* matches every event."""
        return not wanted or bool({self.type, self.id, self.name} & {*wanted})


class TailPage(NamedTuple):
    """One reading of the history: the new *events*, the number of *unreadable* lines, and *about*: the number of reads and their price."""

    events: tuple[EventLine, ...]
    unreadable: int
    about: About


class EventsView(NamedTuple):
    """The latest *events* that match, the latest first, of *found* since the day *since*; the number of *unreadable* lines."""

    events: tuple[EventLine, ...]
    found: int
    since: str
    unreadable: int
    about: About


def events(app: Sedano, days: int, wanted: Sequence[str] = (), most: int = MOST) -> EventsView:
    """Return the latest events of the last *days*, at most *most*, in causal order.

    *wanted*: types such as ``task-failed``, ids of tasks, names of tasks; empty: all.

    Raises:
        OptionError: *days* is less than 1.
    """
    look = EventTail(app, days).look()
    found = [one for one in look.events if one.is_among(wanted)]
    since = first_day(app.outlet.ports, days)
    return EventsView(tuple(found[::-1][:most]), len(found), since, look.unreadable, look.about)


class EventTail:
    """Reads the history of *app* repeatedly and returns each event once."""

    def __init__(self, app: Sedano, days: int = 1) -> None:
        """Read the last *days*, today included; nothing is read yet."""
        self._app, self._days = app, days
        self._seen: set[Stamp] = set()
        self._names: dict[str, str] = {}
        self._latest = 0

    def look(self) -> TailPage:
        """Read the history; return its new events.

        Raises:
            OptionError: the number of days is less than 1.
        """
        reader = Reader(self._app)
        blobs = reader.ports.events.read(first_day(reader.ports, self._days))
        found, unreadable = event_lines(blobs)
        new = {at: event for at, event in found.items() if at not in self._seen}
        self._names.update({at.uuid: str(event["name"]) for at, event in new.items() if at.uuid and event.get("name") is not None})
        ordered = sorted(new)
        events = tuple(self._line(at, new[at]) for at in ordered)
        self._seen |= new.keys()
        self._latest = max(self._latest, ordered[-1].clock) if ordered else self._latest
        return TailPage(events, unreadable, reader.about())

    def _line(self, at: Stamp, event: Mapping[str, Any]) -> EventLine:
        """Return one event as a line; only some events of a task have its name, so it is taken from another one."""
        error = event.get("exception")
        return EventLine(
            at=at.timestamp, clock=at.clock, type=at.type, id=at.uuid, name=self._names.get(at.uuid, ""), worker=at.hostname,
            error="" if error is None else str(error), late=at.clock < self._latest,
        )  # fmt: skip
