"""The workers of the last three days, with the tasks that they hold."""

from __future__ import annotations

from typing import NamedTuple

from sedano.app import Sedano
from sedano.model.cluster.members import Member
from sedano.views.reader import About, Reader


class WorkersView(NamedTuple):
    """The workers by name. A silent worker is LOST only if a claim with its name has run out, else IDLE."""

    rows: tuple[Member, ...]
    about: About


def workers(app: Sedano) -> WorkersView:
    """Return the workers of *app*: one query of their index, and the records of tasks that silent ones hold."""
    reader = Reader(app)
    return WorkersView(tuple(reader.control.members()), reader.about())
