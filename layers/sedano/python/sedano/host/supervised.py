"""How a supervised process and its supervisor hear of each other: a pipe for news, and the process id of the supervisor.

The variable is taken out of the environment when it is read, and the pipe is not inherited, so what bodies start knows nothing of either.
"""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from typing import NamedTuple

VARIABLE = "SEDANO_SUPERVISOR"
"""The supervisor's process id and the file descriptor for news, with a colon between them."""
READY, LEAVING, ALIVE = "r", "l", "a"
"""The news of a process: it receives; it ends after so much work, and another one may begin; all its loops move."""
ALIVE_S = 1.0
"""How often a process says that all its loops move."""


class Supervised(NamedTuple):
    """The supervisor of this process: its process id, and where news for it are written."""

    parent: int
    news: int

    def say(self, news: str) -> None:
        """Report *news*; a supervisor that has ended, or has not read for hours, misses nothing."""
        try:
            os.write(self.news, news.encode())
        except (BrokenPipeError, BlockingIOError):
            return

    def is_left(self) -> bool:
        """Return whether the supervisor has ended."""
        return os.getppid() != self.parent


def supervised(environment: MutableMapping[str, str]) -> Supervised | None:
    """Return the supervisor that *environment* names, and take it out; None: this process has none."""
    parent, _, news = environment.pop(VARIABLE, "").partition(":")
    if not parent:
        return None
    os.set_inheritable(int(news), False)
    os.set_blocking(int(news), False)
    return Supervised(int(parent), int(news))
