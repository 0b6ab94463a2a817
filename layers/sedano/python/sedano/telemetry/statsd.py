"""Metrics for a StatsD server: sums as UDP datagrams, sent at each flush."""

from __future__ import annotations

import socket
import threading
from collections.abc import Mapping

from sedano.model.telemetry.statsd_lines import datagrams, statsd_line

PORT = 8125
"""The port that StatsD servers receive at."""
Key = tuple[str, tuple[tuple[str, str], ...]]


class StatsdMetrics:
    """Adds counts up and sends them to *host* and *port*. UDP: a server that does not run receives nothing, and no task waits for it."""

    def __init__(self, host: str, port: int = PORT) -> None:
        """Send nothing yet; the name of the host is looked up at each flush that has something to send."""
        self._address = host, port
        self._sums: dict[Key, float] = {}
        self._lock = threading.Lock()

    def add(self, metric: str, value: float, dimensions: Mapping[str, str]) -> None:
        """Add to a sum."""
        key = metric, tuple(sorted(dimensions.items()))
        with self._lock:
            self._sums[key] = self._sums.get(key, 0) + value

    def flush(self) -> None:
        """Send the sums. Those of a flush that fails are lost: sent again, some of them could be counted twice."""
        with self._lock:
            sums, self._sums = self._sums, {}
        if not sums:
            return
        found = (statsd_line(metric, value, dimensions) for (metric, dimensions), value in sums.items())
        family, kind, protocol, _, address = socket.getaddrinfo(*self._address, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind, protocol) as sends:
            sends.setblocking(False)
            for data in datagrams([line for line in found if line]):
                sends.sendto(data, address)
