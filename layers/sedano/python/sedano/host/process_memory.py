"""The memory that this process uses."""

from __future__ import annotations

import resource
import sys
from pathlib import Path


def used_memory() -> int:
    """Return the memory of this process in bytes: its present use, or its peak if the system does not report the present use."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return pages * resource.getpagesize()
