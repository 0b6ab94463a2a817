"""What a process of the fight asked for and was told, written down so that a kill loses nothing that was asked.

One JSON line each, on the disk before the call is made and again when it was answered. A line that is broken off is that of a process that
was killed while it wrote: then the call was not made yet, or its answer not used.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class Journal:
    """The journal of one process. Thread-safe."""

    def __init__(self, path: Path, process: str) -> None:
        """Write to *path* as *process*."""
        self._file = path.open("a")
        self._process = process
        self._lock = threading.Lock()
        self._number = 0

    def write(self, kind: str, **what: Any) -> int:
        """Write a line, wait until it is on the disk, and return its number."""
        with self._lock:
            self._number += 1
            line = {"kind": kind, "process": self._process, "number": self._number, "wall": time.time(), "at": time.monotonic(), **what}
            self._file.write(json.dumps(line) + "\n")
            self._file.flush()
            os.fsync(self._file.fileno())
            return self._number


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines of a journal."""
    for line in path.read_text().splitlines():
        if line.endswith("}"):
            yield json.loads(line)
