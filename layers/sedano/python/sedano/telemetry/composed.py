"""The telemetry of a process, composed of outputs for logs, metrics and traces. Nothing in it raises.

A line that the output cannot take is kept, up to `MOST_KEPT`, and offered again before the next line and at each flush. Lines are written
in their order, with the time at which they were logged. If the oldest ones had to be dropped, a line says how many.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from sedano.model.telemetry.log_entries import LEVELS, KeptEntries, LogEntry
from sedano.ports.telemetry import Logs, Metrics, Traces

OFFERED_AT_ONCE = 100
"""How many kept lines one call writes at most, so that a call does not take long when an output works again."""
LOST_SPANS = "spans were lost, because they could not be sent"


class Outputs(NamedTuple):
    """The outputs of a process; *traces* is None if it exports no spans."""

    logs: Logs
    metrics: Metrics
    traces: Traces | None = None


class ComposedTelemetry:
    """Telemetry (`sedano.ports.Telemetry`) over *outputs*.

    Args:
        outputs: where logs, metrics and traces go.
        service: the name of the logger whose level decides which lines are written, such as `sedano-worker`; a command to the workers can
            change it while they run.
        calls: returns how many AWS calls were made so far, by `service.Operation`.
        level: the lowest level that is written; a level that is not known counts as INFO.
        now: returns the time in epoch seconds.
    """

    def __init__(
        self, outputs: Outputs, service: str, calls: Callable[[], Mapping[str, int]], *, level: str = "INFO",
        now: Callable[[], float] = time.time,
    ) -> None:  # fmt: skip
        """Write nothing yet."""
        self._outputs, self._now, self.calls, self.traces = outputs, now, calls, outputs.traces
        self._gate = logging.getLogger(service)
        self._gate.setLevel(logging.getLevelNamesMapping().get(level.upper(), logging.INFO))
        self._kept, self._lock, self._is_writing = KeptEntries(), threading.RLock(), False

    def log(self, level: str, message: str, /, **fields: Any) -> None:
        """Write one line; *level* is debug, info, warning or error."""
        if self._gate.isEnabledFor(LEVELS[level]):
            with self._lock:
                self._kept.add(LogEntry(self._now(), level, message, fields))
                self._offer()

    def count(self, metric: str, value: float = 1, **dimensions: str) -> None:
        """Add to a metric."""
        with suppress(Exception):
            self._outputs.metrics.add(metric, value, dimensions)

    def flush(self) -> None:
        """Send the metrics, and offer kept lines again."""
        with suppress(Exception):
            self._outputs.metrics.flush()
        if self.traces is not None:
            with suppress(Exception):
                self.traces.flush()
                if lost := self.traces.lost():
                    self.log("warning", LOST_SPANS, spans=lost)
        if self._kept or self._kept.lost:
            with self._lock:
                self._offer()

    def close(self) -> None:
        """Send what an exporter still has, in a bounded time, because the process ends."""
        if self.traces is not None:
            with suppress(Exception):
                self.traces.close()
        self.flush()

    def _offer(self) -> None:
        """Write kept lines until one cannot be written now; a line that is logged by an output meanwhile waits for its turn."""
        if self._is_writing:
            return
        self._is_writing = True
        try:
            for _ in range(OFFERED_AT_ONCE):
                entry = self._kept.oldest() or self._kept.report(self._now())
                if entry is None:
                    return
                if not self._kept:
                    self._kept.add(entry)
                self._write(entry)
        except OSError:
            return
        finally:
            self._is_writing = False

    def _write(self, entry: LogEntry) -> None:
        try:
            self._outputs.logs.write(entry)
        except OSError:
            raise
        except Exception:  # noqa: BLE001 - an adapter may raise anything about a line that it cannot write
            self._kept.refused()
        else:
            self._kept.written()
