"""This machine's time and randomness."""

from __future__ import annotations

import random
import secrets
import time
import uuid


class SystemClock:
    """The clock of this machine."""

    __slots__ = ()

    def now(self) -> float:
        """Return seconds since the epoch, UTC."""
        return time.time()

    def monotonic(self) -> float:
        """Return seconds that never run backwards."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


class SystemEntropy:
    """Randomness of the operating system, drawn per call: a state that SnapStart could clone does not exist."""

    __slots__ = ()

    def uuid(self) -> str:
        """Return a fresh id."""
        return str(uuid.uuid4())

    def nonce(self) -> str:
        """Return a fresh nonce (32 hex digits)."""
        return secrets.token_hex(16)

    def unit(self) -> float:
        """Return a number in [0, 1)."""
        return _SYSTEM.random()


_SYSTEM = random.SystemRandom()
