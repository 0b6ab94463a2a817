"""The changes that people made to a stage, each with its author, number of items and reason. They are events of the history."""

from __future__ import annotations

from typing import NamedTuple

from sedano.app import Sedano
from sedano.model.history.stage_changes import StageChange, stage_changes
from sedano.views.cluster import first_day
from sedano.views.event_lines import event_lines
from sedano.views.reader import About, Reader

MOST = 200
"""How many changes are shown."""


class ChangesView(NamedTuple):
    """The latest *rows* of *found* changes since the day *since*, the latest first; the number of *unreadable* lines."""

    rows: tuple[StageChange, ...]
    found: int
    since: str
    unreadable: int
    about: About


def changes(app: Sedano, days: int, most: int = MOST) -> ChangesView:
    """Return the latest changes of the last *days*, today included, at most *most*.

    Raises:
        OptionError: *days* is less than 1.
    """
    reader = Reader(app)
    since = first_day(reader.ports, days)
    events, unreadable = event_lines(reader.ports.events.read(since))
    found = stage_changes(events.values())
    return ChangesView(tuple(found[:most]), len(found), since, unreadable, reader.about())
