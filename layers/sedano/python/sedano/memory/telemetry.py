"""Telemetry that keeps its lines and counts, for assertions."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sedano.model.telemetry.execution_spans import ExportedSpan


@dataclass(frozen=True, slots=True)
class LoggedLine:
    """One line that was logged."""

    level: str
    message: str
    fields: Mapping[str, Any]


class MemoryTraces:
    """Keeps every span in `spans`."""

    def __init__(self, spans: list[ExportedSpan] | None = None) -> None:
        """Add them to *spans*; by default to a list of its own."""
        self.spans = [] if spans is None else spans

    def export(self, spans: Sequence[ExportedSpan]) -> None:
        """Keep *spans*."""
        self.spans += spans

    def flush(self) -> None:
        """Do nothing."""

    def lost(self) -> int:
        """Return 0: no span is lost."""
        return 0

    def close(self) -> None:
        """Do nothing."""


class MemoryTelemetry:
    """Keeps every line in `lines` and every metric; `counted` and `messages` answer the usual questions of a test.

    `lose` forgets what was counted and not flushed yet, as the end of a process does.
    """

    def __init__(self, traces: MemoryTraces | None = None) -> None:
        """Start empty; *traces* keeps the spans of workers."""
        self.lines: list[LoggedLine] = []
        self.flushes, self.traces = 0, traces
        self._counts: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}
        self._written: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}
        self._calls: dict[str, int] = {}
        self._lock = threading.Lock()

    def log(self, level: str, message: str, /, **fields: Any) -> None:
        """Keep one line."""
        with self._lock:
            self.lines.append(LoggedLine(level, message, fields))

    def count(self, metric: str, value: float = 1, **dimensions: str) -> None:
        """Add to a metric."""
        key = (metric, tuple(sorted(dimensions.items())))
        with self._lock:
            self._counts[key] = self._counts.get(key, 0) + value

    def counted(self, metric: str, **dimensions: str) -> float:
        """Return the sum of *metric* over everything with these *dimensions*."""
        wanted = dimensions.items()
        with self._lock:
            return sum(value for (name, found), value in self._counts.items() if name == metric and wanted <= dict(found).items())

    def messages(self, level: str | None = None) -> list[str]:
        """Return the messages that were logged, of one *level* or of all."""
        return [line.message for line in self.lines if level in (None, line.level)]

    def called(self, operation: str, times: int = 1) -> None:
        """Note that *operation* (`service.Operation`) was called, for a fake of an AWS client."""
        with self._lock:
            self._calls[operation] = self._calls.get(operation, 0) + times

    def calls(self) -> Mapping[str, int]:
        """Return how many AWS calls were noted; memory itself makes none."""
        with self._lock:
            return dict(self._calls)

    def flush(self) -> None:
        """Count the flush; `lose` no longer drops the counts until now."""
        with self._lock:
            self.flushes += 1
            self._written = dict(self._counts)

    def lose(self) -> None:
        """Drop what was counted since the last flush, as when a process is killed."""
        with self._lock:
            self._counts = dict(self._written)
