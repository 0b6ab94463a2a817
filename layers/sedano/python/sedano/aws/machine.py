"""This machine's time and randomness."""

from __future__ import annotations

import random
import secrets
import time


class SystemClock:
    """The clock of this machine."""

    __slots__ = ()

    now = staticmethod(time.time)
    """Return seconds since the epoch, UTC. The function itself, without a wrapper: each task calls it five times."""
    monotonic = staticmethod(time.monotonic)
    """Return seconds that never run backwards."""
    sleep = staticmethod(time.sleep)
    """Wait."""

    async def sleep_async(self, seconds: float) -> None:
        """Wait without holding up the event loop that runs here."""
        import asyncio

        await asyncio.sleep(seconds)


class SystemEntropy:
    """Randomness of the operating system, drawn for each call, so there is no state that SnapStart could clone."""

    __slots__ = ()

    def uuid(self) -> str:
        """Return a fresh id: a random UUID (version 4), put together from text in a quarter of the time of `uuid.uuid4`."""
        digits = secrets.token_hex(16)
        variant = _VARIANTS[int(digits[16], 16)]
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"

    def nonce(self) -> str:
        """Return a fresh nonce (32 hex digits)."""
        return secrets.token_hex(16)

    def unit(self) -> float:
        """Return a number in [0, 1)."""
        return _SYSTEM.random()


_SYSTEM = random.SystemRandom()
_VARIANTS = "89ab" * 4
