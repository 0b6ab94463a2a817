"""The three outputs of a process's telemetry, each a small port of its own: logs, metrics and traces.

The engine uses none of them directly. It logs to one `Telemetry` (`sedano.ports.machine`), which `sedano.telemetry.composed` makes of
these three; an adapter therefore need not handle its own failures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from sedano.model.telemetry.execution_spans import ExportedSpan
from sedano.model.telemetry.log_entries import LogEntry


class Logs(Protocol):
    """Where log lines go."""

    def write(self, entry: LogEntry) -> None:
        """Write *entry* now, without waiting for a reader.

        Raises:
            OSError: the output does not work at the moment. The line is kept and offered again.
            Exception: this line can never be written. It is counted as lost.
        """


class Metrics(Protocol):
    """Where counts go."""

    def add(self, metric: str, value: float, dimensions: Mapping[str, str]) -> None:
        """Add *value* to the counter *metric* with these *dimensions*; several threads may call it at once."""

    def flush(self) -> None:
        """Send all sums since the last flush.

        Raises:
            Exception: they could not be sent; the caller goes on.
        """


class Traces(Protocol):
    """Where spans go."""

    def export(self, spans: Sequence[ExportedSpan]) -> None:
        """Take *spans* without waiting for anything; several threads may call it at once."""

    def flush(self) -> None:
        """Send what an exporter without a thread of its own has taken."""

    def lost(self) -> int:
        """Return how many spans were lost since the last call, because they could not be sent."""

    def close(self) -> None:
        """Send the rest, and end; the exporter is given a bounded time."""
