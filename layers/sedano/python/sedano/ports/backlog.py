"""The port of the backlog: the messages that no broker accepted, until they are sent. One of `sedano.ports`.

A message in the backlog is confirmed: `delay()` returned its id. How much it survives depends on the adapter:

    the disk      `sedano.engine.publisher.spool`: a SIGKILL of the process; the default where the disk outlives the process
    DynamoDB      `sedano.aws.backlog`: the loss of the host with its disk
    memory        `sedano.memory.backlog`: nothing beyond the process, so a program uses it only if it asks for it

A sender takes messages for a while, then calls `done` with those that were sent and `give_back` with the others. If it dies in between, the
messages are there again when that time has passed, and their claims absorb those that were sent twice. A sender that got nothing, or
that is late, does not change what another sender has taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sedano.ports import Addressed

TAKEN_S = 60.0
"""How long (s) messages are left to the sender that took them."""
MOST = 10_000
"""The most messages that wait on a disk or in memory; beyond that, publications are refused."""


class Stored(Protocol):
    """A message taken from the backlog to be sent."""

    @property
    def seq(self) -> int | str:
        """Its name in the backlog."""

    @property
    def message(self) -> Addressed:
        """The message."""


class Backlog(Protocol):
    """A store of messages that no broker accepted."""

    @property
    def lasts(self) -> bool:
        """Whether its messages outlive this process."""

    def keep(self, messages: Sequence[Addressed], now: float) -> None:
        """Store all of *messages*, or none; raise `BacklogFull` or another `SedanoError` if they cannot be stored."""

    def exists(self) -> bool:
        """Return whether messages may be stored; no call is made to find out."""

    def take(self, most: int, now: float) -> Sequence[Stored]:
        """Take up to *most* messages for a while, the oldest first, those that were given back after the others."""

    def done(self, taken: Sequence[Stored]) -> None:
        """Forget messages that were sent."""

    def give_back(self, taken: Sequence[Stored]) -> None:
        """Leave messages that could not be sent to the next sender."""


def delay_left(delay: int, due: float, now: float) -> int:
    """Return the whole seconds that are left at *now* of the *delay* of a message that is due at *due* (epoch s)."""
    return min(max(0, delay), max(0, -int(-(due - now) // 1)))
