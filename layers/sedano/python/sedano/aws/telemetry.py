"""Telemetry for CloudWatch: structured lines by the Powertools Logger, metrics in its embedded format (EMF).

Promises: fields are under `fields`, never at a line's top level, because CloudWatch reads a top-level `_aws` as a metric, and a caller that
can name a field could then write metrics, or bills. Lines are ASCII, so no text can break one. A metric's dimensions come from code and the
registry; metrics with different dimensions are different objects, so they are not multiplied into combinations. Counts add up in memory and
are written at `flush`, once an invocation and whenever one must not be lost.

CloudWatch charges 0.30 USD a month for each combination of a metric and its dimensions. So the task of a count is a field of its line,
which Logs Insights can group by, and a dimension only if the stage requests it.

Values that CloudWatch would drop without an error are not written: a dimension's value is printable ASCII (other characters
are percent-encoded), a line declares at most 100 metrics, and a text of a log line is cut at 32 KB, far below the 1 MB of an event.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator, Mapping
from typing import Any, TextIO
from urllib.parse import quote_from_bytes

from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics.provider.cloudwatch_emf.cloudwatch import AmazonCloudWatchEMFProvider

_dump = json.JSONEncoder(separators=(",", ":"), default=str).encode

Dimensions = tuple[tuple[str, str], ...]
MOST_METRICS = 100
"""How many metrics CloudWatch reads from one line."""
LONGEST_TEXT = 32 * 1024
"""How many characters of a text a log line holds."""
LONGEST_VALUE = 1024
"""How many characters the value of a dimension may have."""
TASK = "task"
"""The dimension that has as many values as the application has tasks."""
_PRINTABLE = "".join(chr(code) for code in range(0x20, 0x7F) if chr(code) != "%")


class PowertoolsTelemetry:
    """Logs and metrics of one process.

    Args:
        service: the service's name: `service` in each line and in each metric.
        namespace: the metrics' namespace.
        counts: how many AWS calls were made by `service.Operation`; usually `Session.calls`.
        level: the lowest level that is written; by default that of the environment (`POWERTOOLS_LOG_LEVEL`), else
            INFO.
        stream: where lines go; standard output unless given.
        by_task: whether the task is a dimension of its metrics: one series for each task.
    """

    def __init__(
        self,
        service: str,
        namespace: str,
        counts: Mapping[str, int],
        *,
        level: str | None = None,
        stream: TextIO | None = None,
        by_task: bool = False,
    ) -> None:
        """Write nothing yet."""
        self._by_task = by_task
        self._service = service
        self._calls = counts
        self._stream = stream
        self._logger = Logger(service=service, level=level, stream=stream, location=None, json_serializer=_dump)
        self._levels = {
            "debug": self._logger.debug,
            "info": self._logger.info,
            "warning": self._logger.warning,
            "error": self._logger.error,
        }
        self._emf = AmazonCloudWatchEMFProvider(namespace=namespace, service=service)
        self._counts: dict[Dimensions, dict[str, float]] = {}
        self._lock = threading.Lock()

    def log(self, level: str, message: str, /, **fields: Any) -> None:
        """Write one structured line; *level* is debug, info, warning or error; *fields* are under `fields`."""
        self._levels[level](_cut(message), extra={"fields": {name: _cut(value) for name, value in fields.items()}} if fields else None)

    def count(self, metric: str, value: float = 1, **dimensions: str) -> None:
        """Add to a metric."""
        key = tuple(sorted(dimensions.items()))
        with self._lock:
            metrics = self._counts.setdefault(key, {})
            metrics[metric] = metrics.get(metric, 0) + value

    def calls(self) -> Mapping[str, int]:
        """Return how many AWS calls were made so far, by `service.Operation`."""
        return dict(self._calls)

    def flush(self) -> None:
        """Write the metrics that were counted since the last flush, one line for each set of dimensions.

        Never raises: an output that is broken loses these metrics and nothing else. Recorded outcomes stay recorded, and the batch whose
        work they count is acknowledged.
        """
        with self._lock:
            counts, self._counts = self._counts, {}
            try:
                text = "".join(f"{line}\n" for dimensions, metrics in counts.items() for line in self._lines(dimensions, metrics))
                if text:  # one write, under the lock: threads record outcomes, and interleaved lines are not a metric
                    print(text, end="", file=self._stream or sys.stdout, flush=True)
            except Exception as error:  # noqa: BLE001 - a lost metric must not fail a batch
                self.log("error", "metrics are lost", sets=len(counts), error=type(error).__name__)

    def _lines(self, dimensions: Dimensions, metrics: Mapping[str, float]) -> Iterator[str]:
        values = [(name, {"Unit": "Count", "StorageResolution": 60, "Value": [value]}) for name, value in metrics.items()]
        apart = {name: value for name, value in dimensions if name == TASK and not self._by_task}
        named = {name: _value(value) for name, value in dimensions if name not in apart}
        for first in range(0, len(values), MOST_METRICS):
            self._emf.dimension_set = {**named, "service": self._service}
            yield _dump({**self._emf.serialize_metric_set(metrics=dict(values[first : first + MOST_METRICS])), **apart})


def _value(text: str) -> str:
    """Return *text* as the value of a dimension, distinct for each text: CloudWatch accepts only printable ASCII that is not blank."""
    if text.isascii() and text.isprintable() and "%" not in text and text.strip() and len(text) <= LONGEST_VALUE:
        return text
    encoded = quote_from_bytes(text.encode("utf-8", "surrogatepass"), safe=_PRINTABLE)
    return (encoded if encoded.strip() else encoded.replace(" ", "%20") or "%")[:LONGEST_VALUE]


def _cut(value: Any) -> Any:
    """Return *value*; a long text is cut."""
    return f"{value[:LONGEST_TEXT]} ... {len(value) - LONGEST_TEXT} more" if isinstance(value, str) and len(value) > LONGEST_TEXT else value
