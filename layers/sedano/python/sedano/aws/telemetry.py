"""Telemetry for CloudWatch: structured lines by the Powertools Logger, metrics in its embedded format (EMF).

Promises: fields stand under `fields`, never at a line's top level, because CloudWatch reads a top-level `_aws` as a
metric and whoever can name a field could then write metrics, or bills. Lines are ASCII, so no text can break one. A
metric's dimensions come from code and the registry; metrics with different dimensions are different objects, so none is
multiplied into combinations. Counts add up in memory and leave at `flush`, once an invocation and whenever one must not be lost.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Mapping
from typing import Any, TextIO

from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics.provider.cloudwatch_emf.cloudwatch import AmazonCloudWatchEMFProvider

_dump = json.JSONEncoder(separators=(",", ":"), default=str).encode

Dimensions = tuple[tuple[str, str], ...]


class PowertoolsTelemetry:
    """Logs and metrics of one process.

    Args:
        service: the service's name: `service` in each line and in each metric.
        namespace: the metrics' namespace.
        counts: how many AWS calls were made by `service.Operation`; usually `Session.calls`.
        level: the least level that is written; by default what the environment says (`POWERTOOLS_LOG_LEVEL`), else
            INFO.
        stream: where lines go; standard output unless given.
    """

    def __init__(
        self,
        service: str,
        namespace: str,
        counts: Mapping[str, int],
        *,
        level: str | None = None,
        stream: TextIO | None = None,
    ) -> None:
        """Write nothing yet."""
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
        """Write one structured line; *level* is debug, info, warning or error; *fields* stand under `fields`."""
        self._levels[level](message, extra={"fields": fields} if fields else None)

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

        Never raises: an output that is broken loses these metrics and nothing else. What was recorded stays recorded, and the batch whose
        work they count is acknowledged.
        """
        with self._lock:
            counts, self._counts = self._counts, {}
            try:
                text = "".join(f"{self._line(dimensions, metrics)}\n" for dimensions, metrics in counts.items())
                if text:  # in one piece and under the lock: threads record outcomes, and two lines in one are no metric
                    print(text, end="", file=self._stream or sys.stdout, flush=True)
            except Exception as error:  # noqa: BLE001 - whatever it is, a metric is not worth a batch
                self.log("error", "metrics are lost", sets=len(counts), error=type(error).__name__)

    def _line(self, dimensions: Dimensions, metrics: Mapping[str, float]) -> str:
        values = {name: {"Unit": "Count", "StorageResolution": 60, "Value": [value]} for name, value in metrics.items()}
        self._emf.dimension_set = {**dict(dimensions), "service": self._service}
        return _dump(self._emf.serialize_metric_set(metrics=values))
