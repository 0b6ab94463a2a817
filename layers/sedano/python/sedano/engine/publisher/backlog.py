"""The backlog of a program over its spool (`sedano.engine.publisher.spool_folder` says where that is). The database is loaded when it is
first needed.

`of` does not open the spool, so a program that never needs it only pays for checking whether a file exists.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from sedano.engine.publisher.spool_folder import NAME, place

if TYPE_CHECKING:
    from sedano.engine.drafts import Addressed
    from sedano.engine.publisher.spool import Spool
    from sedano.ports.backlog import Stored


def of(app: str) -> DiskBacklog | None:
    """Return the backlog of *app* on this host's disk; None without one (`place`)."""
    found = place(app)
    return None if found is None else DiskBacklog(found)


class DiskBacklog:
    """A backlog (`sedano.ports.backlog.Backlog`) over a spool, which is loaded when it is first needed."""

    lasts = True

    def __init__(self, folder: Path) -> None:
        """Store below *folder*; nothing is made yet."""
        self._folder = folder
        self._is_empty = False

    @cached_property
    def _spool(self) -> Spool:
        from sedano.engine.publisher.spool import Spool

        return Spool(self._folder)

    def exists(self) -> bool:
        """Return whether anything was ever stored, and a `take` has not found the spool empty since."""
        return (not self._is_empty and (self._folder / NAME).exists()) or any(self._folder.glob("[!u]*.jsonl"))

    def keep(self, messages: Sequence[Addressed], now: float) -> None:
        """Keep all of *messages*, or none."""
        self._spool.keep(messages, now)
        self._is_empty = False

    def take(self, most: int, now: float) -> Sequence[Stored]:
        """Take up to *most* messages for a while, the oldest first."""
        found = self._spool.take(most, now)
        if not found:
            self._is_empty = True
            if self._spool.waiting():  # a message that another thread keeps meanwhile also sets it again
                self._is_empty = False
        return found

    def done(self, taken: Sequence[Stored]) -> None:
        """Forget messages that were sent."""
        self._spool.done(taken)

    def give_back(self, taken: Sequence[Stored]) -> None:
        """Leave messages that could not be sent to the next sender."""
        self._spool.give_back(taken)
