"""A progress bar on a terminal; elsewhere a line from time to time."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from typing import TextIO

BETWEEN_LINES_S = 5.0
WIDTH = 32
FULL, EMPTY = "█", "░"


class Progress:
    """Prints each phase and the progress of the current one.

    Args:
        stream: the output; on a terminal the bar is redrawn in place.
        clock: monotonic seconds.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        """Print nothing yet."""
        self._stream, self._clock = stream, clock
        self._began = self._said = clock()
        self._is_drawn = False

    @property
    def seconds(self) -> float:
        """Seconds since it was made."""
        return self._clock() - self._began

    def phase(self, words: str) -> None:
        """Begin a phase."""
        self._clear()
        self._write(f"[{self.seconds:5.1f} s] {words}\n")
        self._said = self._clock()

    def bar(self, done: int, whole: int, words: str) -> None:
        """Show that *done* of *whole* are done; *words* is further text."""
        share = done / whole if whole else 1.0
        line = f"{drawn(share)} {done}/{whole} {words}"
        if self._stream.isatty():
            columns = shutil.get_terminal_size().columns
            self._write(f"\r\x1b[2K{line[: columns - 1]}")
            self._is_drawn = True
        elif self._clock() - self._said >= BETWEEN_LINES_S:
            self._write(f"          {share:4.0%}  {done}/{whole} {words}\n")
            self._said = self._clock()

    def _clear(self) -> None:
        if self._is_drawn:
            self._write("\r\x1b[2K")
            self._is_drawn = False

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def drawn(share: float) -> str:
    """Return a bar of fixed width that is *share* (0 to 1) full."""
    full = round(max(0.0, min(1.0, share)) * WIDTH)
    return FULL * full + EMPTY * (WIDTH - full)
