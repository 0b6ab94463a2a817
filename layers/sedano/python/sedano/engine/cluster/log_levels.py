"""The least level that a process logs, changed for a while by a command, and set back.

The level is that of the root logger and of each logger of sedano that has a level of its own. Logging belongs to the whole process, and so
does this: of several workers in one process, the first one that obeys a command remembers what was set before, and the last command counts.
Nothing waits: a worker looks whether the time is over when it looks at its inbox.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

_OWN = "sedano"


class LogLevels:
    """The changed levels of this process."""

    def __init__(self) -> None:
        """Change nothing yet."""
        self._before: dict[str, int] = {}
        self._until = float("inf")
        self._lock = threading.Lock()

    def change(self, level: str, until: float) -> None:
        """Log from *level* (``debug``, ``info`` …) on, until the moment *until* of the clock that `look` is called with."""
        with self._lock:
            self._before = self._before or {name: _logger(name).level for name in ("", *_own_names())}
            self._until = until
            for name in self._before:
                _logger(name).setLevel(level.upper())

    def look(self, now: float) -> bool:
        """Set the levels back if their time is over at *now*; return whether they were."""
        with self._lock:
            if not self._before or now < self._until:
                return False
            before, self._before = self._before, {}
            for name, level in before.items():
                _logger(name).setLevel(level)
            return True


def _own_names() -> list[str]:
    found = logging.getLogger().manager.loggerDict.items()
    return [name for name, one in found if name.startswith(_OWN) and isinstance(one, logging.Logger) and one.level]


_logger: Callable[[str], logging.Logger] = logging.getLogger
LEVELS = LogLevels()
"""Those of this process."""
