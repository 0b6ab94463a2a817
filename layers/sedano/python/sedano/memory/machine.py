"""Time that moves on request, and randomness from a seed."""

from __future__ import annotations

import random
import threading
from uuid import UUID


class VirtualClock:
    """A clock that moves only by `advance` or `sleep`."""

    __slots__ = ("_elapsed", "_lock", "_start")

    def __init__(self, start: float) -> None:
        """Show *start* (seconds since the epoch) at first."""
        self._start = start
        self._elapsed = 0.0
        self._lock = threading.Lock()

    def now(self) -> float:
        """Return seconds since the epoch."""
        return self._start + self._elapsed

    def monotonic(self) -> float:
        """Return the seconds that have passed."""
        return self._elapsed

    def sleep(self, seconds: float) -> None:
        """Move on by *seconds* at once."""
        self.advance(seconds)

    async def sleep_async(self, seconds: float) -> None:
        """Move on by *seconds* at once."""
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        """Move on by *seconds*; time never runs backwards."""
        if seconds < 0:
            raise ValueError(f"seconds: {seconds} would move time backwards")
        with self._lock:
            self._elapsed += seconds


class SeededEntropy:
    """Ids, nonces and numbers that repeat for the same seed."""

    __slots__ = ("_lock", "_random")

    def __init__(self, seed: int = 0) -> None:
        """Start the sequence that belongs to *seed*."""
        self._random = random.Random(seed)
        self._lock = threading.Lock()

    def uuid(self) -> str:
        """Return the next id."""
        with self._lock:
            bits = self._random.getrandbits(128)
        return str(UUID(int=bits, version=4))

    def nonce(self) -> str:
        """Return the next nonce (32 hex digits)."""
        with self._lock:
            return f"{self._random.getrandbits(128):032x}"

    def unit(self) -> float:
        """Return the next number in [0, 1)."""
        with self._lock:
            return self._random.random()
