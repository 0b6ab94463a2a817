"""The keys of a stage, in memory."""

from __future__ import annotations

import threading


class MemoryKeyStore:
    """One text, or none."""

    def __init__(self, text: str | None = None) -> None:
        """Hold *text*."""
        self.text = text
        self._lock = threading.Lock()

    def read(self) -> str | None:
        """Return the text; None if it was never written."""
        return self.text

    def create(self, text: str) -> bool:
        """Write *text* unless one exists; return whether it was written."""
        with self._lock:
            if self.text is not None:
                return False
            self.text = text
            return True

    def replace(self, text: str) -> None:
        """Replace the existing text by *text*."""
        self.text = text
