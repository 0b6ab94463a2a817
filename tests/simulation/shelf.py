"""The spool of a simulated client: what it keeps survives its process, as the database on a program's disk does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sedano.engine.drafts import Addressed


class Kept(NamedTuple):
    """A message that lies on the shelf."""

    message: Addressed


class Shelf:
    """A backlog (`sedano.engine.publisher.sender.Backlog`) without a disk, the oldest message first."""

    def __init__(self) -> None:
        """Hold nothing."""
        self.messages: list[Kept] = []

    def keep(self, messages: Sequence[Addressed], now: float) -> None:
        """Keep all of *messages*."""
        self.messages += map(Kept, messages)

    lasts = True

    def exists(self) -> bool:
        """Return whether anything lies here."""
        return bool(self.messages)

    def take(self, most: int, now: float) -> Sequence[Kept]:
        """Return up to *most* messages; they stay here until they are `done`."""
        return self.messages[:most]

    def done(self, taken: Sequence[Kept]) -> None:
        """Forget messages that were sent."""
        self.messages = [one for one in self.messages if one not in taken]

    def give_back(self, taken: Sequence[Kept]) -> None:
        """Leave messages where they are."""
