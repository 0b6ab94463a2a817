"""The circuits of an app's tasks: open or closed, since when, until when, and why."""

from __future__ import annotations

from typing import NamedTuple

from sedano.api.inspection import CircuitView
from sedano.app import Sedano
from sedano.views.reader import About, Reader


class CircuitsView(NamedTuple):
    """The circuits by name."""

    rows: tuple[CircuitView, ...]
    about: About


def circuits(app: Sedano) -> CircuitsView:
    """Return the circuits that tasks of *app* declare: one read for all shared circuits, or none if no circuit is shared."""
    reader = Reader(app)
    return CircuitsView(tuple(reader.control.inspect().circuits()), reader.about())
