"""The port of roll-ups: the sums of each object of the history, by which views read a window without its events.

Implemented by `sedano.memory`, `sedano.sqlite` and `sedano.aws`; `tests/conformance/test_rollups.py` holds all of them to it.
"""

from __future__ import annotations

from typing import Protocol

from sedano.model.history.rollups import Rollup


class Rollups(Protocol):
    """Roll-ups by the name of their object: put once, read by the minute, kept for 45 days."""

    def put(self, rollup: Rollup) -> None:
        """Keep *rollup* unless there is one of the same object: a batch that is recorded again adds nothing."""

    def read(self, since: int, until: int) -> list[Rollup] | None:
        """Return those of the minutes (since the epoch) from *since* to *until*, by minute and name, a moment after they were put.

        None: this store has no index of roll-ups, because an earlier version deployed it.
        """
