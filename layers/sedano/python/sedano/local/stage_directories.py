"""Directories for stages that run at the same time: each stage has its own, with a lock while its process lives.

The first stage uses the directory itself, the second `beside-2` below it, and so on. The lock (`flock`) ends when the process that holds
it ends, for whatever reason, so the place of a killed stage is used again, and the files that it left there are known to be stale.
"""

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path

from sedano.local.failure import LocalStageError

MOST = 32
_PRIVATE = 0o700


@dataclass(slots=True)
class LocalSlot:
    """A directory that no other stage uses until it is released."""

    path: Path
    _lock: int

    def release(self) -> None:
        """Release the directory; a second call does nothing."""
        lock, self._lock = self._lock, -1
        if lock >= 0:
            os.close(lock)


def claim(directory: Path) -> LocalSlot:
    """Return the first place in *directory* that no running stage uses.

    Raises:
        LocalStageError: all places are in use.
    """
    for number in range(1, MOST + 1):
        path = directory.resolve() if number == 1 else directory.resolve() / f"beside-{number}"
        path.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
        lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
        else:
            return LocalSlot(path, lock)
    raise LocalStageError(f"{MOST} stages run in {directory}: stop one, or name another directory with --directory")
