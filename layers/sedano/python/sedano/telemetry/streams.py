"""Logs as lines on standard output and standard error, and outputs that write nothing."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TextIO

from sedano.model.telemetry.execution_spans import ExportedSpan
from sedano.model.telemetry.log_entries import LogEntry, console_line, json_line


class StreamLogs:
    """Writes each line of *form* to *stream*, with its end in one call, so that lines of several threads do not mix."""

    def __init__(self, form: Callable[[LogEntry], str], stream: Callable[[], TextIO]) -> None:
        """Write nothing yet; *stream* returns the stream, which a program may replace while it runs."""
        self._form, self._stream = form, stream

    def write(self, entry: LogEntry) -> None:
        """Write one line, and flush it."""
        stream = self._stream()
        stream.write(f"{self._form(entry)}\n")
        stream.flush()


def json_logs(service: str, stream: TextIO | None = None) -> StreamLogs:
    """Return logs as JSON on *stream*, by default standard output; each line names *service*."""
    return StreamLogs(lambda entry: json_line(entry, service), lambda: stream or sys.stdout)


def console_logs(stream: TextIO | None = None) -> StreamLogs:
    """Return logs for a person on *stream*, by default standard error, in local time."""
    return StreamLogs(lambda entry: console_line(entry, time.strftime("%H:%M:%S", time.localtime(entry.at))), lambda: stream or sys.stderr)


class StreamTraces:
    """Writes each span as a log line `span` to *logs*; a span that cannot be written is lost, and counted."""

    def __init__(self, logs: StreamLogs) -> None:
        """Write nothing yet."""
        self._logs, self._lost, self._lock = logs, 0, threading.Lock()

    def export(self, spans: Sequence[ExportedSpan]) -> None:
        """Write *spans*."""
        with self._lock:
            for span in spans:
                fields = span._asdict() | {"links": [link._asdict() for link in span.links]}
                try:
                    self._logs.write(LogEntry(span.end, "info", "span", fields))
                except Exception:  # noqa: BLE001 - the stream may be gone, and no task ends because of that
                    self._lost += 1

    def flush(self) -> None:
        """Do nothing: a span is written when it is exported."""

    def lost(self) -> int:
        """Return how many spans were lost since the last call."""
        with self._lock:
            lost, self._lost = self._lost, 0
        return lost

    def close(self) -> None:
        """Do nothing."""


class NoLogs:
    """Writes no line."""

    def write(self, entry: LogEntry) -> None:
        """Drop the line."""


class NoMetrics:
    """Counts nothing."""

    def add(self, metric: str, value: float, dimensions: Mapping[str, str]) -> None:
        """Drop the count."""

    def flush(self) -> None:
        """Do nothing."""
