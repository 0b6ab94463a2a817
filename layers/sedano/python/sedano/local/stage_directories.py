"""Directories for stages that run beside one another: each has a place of its own, held by a lock while its process lives.

The first stage in a directory has the directory itself, the second `beside-2` below it, and so on. The lock (`flock`) ends with the
process that holds it, however that ends, so a place whose stage was killed is taken again, and what it left there is known to be dead.
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
    """A directory that no other stage uses until it is given back."""

    path: Path
    _lock: int

    def release(self) -> None:
        """Give the directory back; giving it back twice is harmless."""
        lock, self._lock = self._lock, -1
        if lock >= 0:
            os.close(lock)


def claim(directory: Path) -> LocalSlot:
    """Return the first place in *directory* that no running stage has.

    Raises:
        LocalStageError: as many stages as there are places run there.
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
