"""The ports to the machine that a program runs on: clocks, randomness, logs and metrics. `sedano.ports` names them with the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class Clock(Protocol):
    """Time as an argument."""

    def now(self) -> float:
        """Return seconds since the epoch, UTC."""

    def monotonic(self) -> float:
        """Return seconds that never run backwards."""

    def sleep(self, seconds: float) -> None:
        """Wait."""

    async def sleep_async(self, seconds: float) -> None:
        """Wait without holding up the event loop that runs here."""


class Entropy(Protocol):
    """Randomness as an argument, drawn per call: SnapStart would clone a value drawn at init."""

    def uuid(self) -> str:
        """Return a fresh id."""

    def nonce(self) -> str:
        """Return a fresh nonce (32 hex digits)."""

    def unit(self) -> float:
        """Return a number in [0, 1)."""


class Telemetry(Protocol):
    """Structured logs and metrics. Names and dimensions come from code and the registry, never from a message."""

    def log(self, level: str, message: str, /, **fields: Any) -> None:
        """Write one structured line; *level* is debug, info, warning or error; *fields* never reach the line's top level unprefixed."""

    def count(self, metric: str, value: float = 1, **dimensions: str) -> None:
        """Add to a metric."""

    def calls(self) -> Mapping[str, int]:
        """Return how many AWS calls were made so far, by `service.Operation`."""

    def flush(self) -> None:
        """Write what is buffered: at the end of each invocation, and at once for what must not be lost with the process."""
