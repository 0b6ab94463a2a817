"""Detects changed files of a project by polling, at an interval that costs at most one hundredth of a core.

Polling needs no package and works on every file system; notifications of the system do not arrive on network file systems, in some
containers, and below WSL.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

ENDINGS = (".py", ".toml", ".yaml", ".yml", ".env")
SKIPPED = frozenset({"__pycache__", "build", "dist", "env", "node_modules", "site-packages", "venv"})
LEAST_S = 0.1
"""The shortest interval between two scans, in seconds."""
MOST_SHARE = 100
"""The ratio of an interval to the CPU time of the scan before it."""
Marks = Mapping[str, tuple[int, int, int]]


def marks(folder: Path) -> Marks:
    """Return the time of the last change (ns), the size and the inode of each watched file below *folder*."""
    found = {}
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in SKIPPED and not name.startswith(".")]
        for name in files:
            if name.endswith(ENDINGS):
                path = os.path.join(place, name)  # noqa: PTH118 - a Path for each file costs as much as the scan
                try:
                    status = os.stat(path)  # noqa: PTH116
                except OSError:
                    continue
                found[path] = (status.st_mtime_ns, status.st_size, status.st_ino)
    return found


def differing(before: Marks, after: Marks) -> list[str]:
    """Return the files that were added, changed or deleted, by name."""
    return sorted(path for path in {*before, *after} if before.get(path) != after.get(path))


def interval(seconds: float) -> float:
    """Return the pause after a scan that took *seconds* of CPU time."""
    return max(LEAST_S, MOST_SHARE * seconds)


class FolderWatch:
    """Polls one folder."""

    def __init__(self, folder: Path) -> None:
        """Remember the present files."""
        self._folder = folder
        self._marks: Marks = {}
        self.pause = LEAST_S
        self.changes()

    def changes(self) -> list[str]:
        """Return the files that have changed since the last scan, and set the pause until the next one."""
        began = time.thread_time()
        after = marks(self._folder)
        self.pause = interval(time.thread_time() - began)
        before, self._marks = self._marks, after
        return differing(before, after)
