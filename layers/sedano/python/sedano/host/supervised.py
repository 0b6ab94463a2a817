"""The link between a supervised process and its supervisor: a pipe for news, and the process id of the supervisor.

The variable is removed from the environment when it is read, and the pipe is not inherited, so processes that bodies start have no link.
"""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from typing import NamedTuple

VARIABLE = "SEDANO_SUPERVISOR"
"""The supervisor's process id and the file descriptor for news, separated by a colon."""
READY, LEAVING, ALIVE = "r", "l", "a"
"""The news of a process: it receives; it ends after so much work, and another process may start; all its loops move."""
ALIVE_S = 1.0
"""The interval at which a process reports that all its loops move, in seconds."""


class Supervised(NamedTuple):
    """The supervisor of this process: its process id, and the pipe to which news are written."""

    parent: int
    news: int

    def say(self, news: str) -> None:
        """Report *news*; do nothing if the supervisor has ended, or if it has not read for so long that the pipe is full."""
        try:
            os.write(self.news, news.encode())
        except (BrokenPipeError, BlockingIOError):
            return

    def is_left(self) -> bool:
        """Return whether the supervisor has ended."""
        return os.getppid() != self.parent


def supervised(environment: MutableMapping[str, str]) -> Supervised | None:
    """Return the supervisor that *environment* names, and remove it from there; None: this process has no supervisor."""
    parent, _, news = environment.pop(VARIABLE, "").partition(":")
    if not parent:
        return None
    os.set_inheritable(int(news), False)
    os.set_blocking(int(news), False)
    return Supervised(int(parent), int(news))
