"""Roll-ups, in memory."""

from __future__ import annotations

import threading

from sedano.model.history.rollups import Rollup


class MemoryRollups:
    """The roll-ups of one deployment, in a dict by the name of their object."""

    def __init__(self) -> None:
        """Start with none."""
        self._kept: dict[str, Rollup] = {}
        self._lock = threading.Lock()

    def put(self, rollup: Rollup) -> None:
        """Write *rollup* unless its object has one."""
        with self._lock:
            self._kept.setdefault(rollup.name, rollup)

    def read(self, since: int, until: int) -> list[Rollup]:
        """Return the roll-ups of the minutes from *since* to *until*, by minute and name."""
        with self._lock:
            return sorted((one for one in self._kept.values() if since <= one.minute <= until), key=lambda one: (one.minute, one.name))
