"""Spans for a collector of OpenTelemetry, by OTLP over HTTP in JSON, with the standard library alone.

A thread sends them in the background, and no task waits for it. The queue is bounded: if a collector is away for longer than a retry lasts,
or slower than the workers, spans are lost and counted. A deployed function has no background between invocations, so there the flush at the
end of an invocation sends.
"""

from __future__ import annotations

import http.client
import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import closing
from urllib.parse import urlsplit

from sedano.model.telemetry.execution_spans import ExportedSpan
from sedano.model.telemetry.otlp_json import RETRYABLE, OtlpEndpoint, traces_body

MOST_WAITING = 4_096
"""How many spans wait for the collector; more are lost."""
MOST_AT_ONCE = 512
"""How many spans one request has at most."""
EVERY_S = 2.0
"""How long spans wait for others before they are sent, in seconds."""
TRIES = 3
CLOSE_S = 5.0
"""How long the end of a process waits for the last spans, in seconds."""
FLUSH_S = 2.0
"""How long the flush of a function waits for the collector, in seconds."""


class OtlpTraces:
    """Sends spans to *endpoint*.

    Args:
        endpoint: the collector.
        service: the name of the service in its traces.
        background: whether a thread sends; else each flush does.
        every: how long spans wait for others, in seconds; the pause before a failed request is sent again grows with it.
    """

    def __init__(self, endpoint: OtlpEndpoint, service: str, *, background: bool = True, every: float = EVERY_S) -> None:
        """Send nothing yet; the thread starts with the first span."""
        self._endpoint, self._service, self._background, self._every = endpoint, service, background, every
        self._waiting: deque[ExportedSpan] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._lost, self._closing = 0, False

    def export(self, spans: Sequence[ExportedSpan]) -> None:
        """Take *spans*; those for which there is no room are lost."""
        with self._changed:
            room = MOST_WAITING - len(self._waiting)
            self._waiting.extend(spans[:room])
            self._lost += max(0, len(spans) - room)
            if self._background and self._thread is None:
                self._thread = threading.Thread(target=self._run, name="sedano-traces", daemon=True)
                self._thread.start()
            if len(self._waiting) >= MOST_AT_ONCE:
                self._changed.notify()

    def flush(self) -> None:
        """Send what waits, if no thread does: one try for each request, in at most `FLUSH_S` seconds altogether."""
        end = time.monotonic() + FLUSH_S
        while not self._background and (spans := self._next()):
            left = end - time.monotonic()
            if left <= 0 or self._post(spans, left) is not None:
                self._lose(len(spans))

    def lost(self) -> int:
        """Return how many spans were lost since the last call."""
        with self._changed:
            lost, self._lost = self._lost, 0
        return lost

    def close(self) -> None:
        """Send the rest, in at most `CLOSE_S` seconds."""
        self.flush()
        with self._changed:
            self._closing = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(CLOSE_S)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closing or len(self._waiting) >= MOST_AT_ONCE, self._every)
                is_last = self._closing
            while spans := self._next():
                self._send(spans)
            if is_last:
                return

    def _next(self) -> list[ExportedSpan]:
        with self._changed:
            return [self._waiting.popleft() for _ in range(min(MOST_AT_ONCE, len(self._waiting)))]

    def _send(self, spans: Sequence[ExportedSpan]) -> None:
        """Send *spans*, again if the collector was away or busy, with growing pauses."""
        for number in range(TRIES):
            again = self._post(spans, self._endpoint.seconds)
            if again is None:
                return
            if not again or number == TRIES - 1 or self._pause(self._every * 2**number):
                break
        self._lose(len(spans))

    def _pause(self, seconds: float) -> bool:
        """Wait; return whether the process ends meanwhile."""
        with self._changed:
            return self._changed.wait_for(lambda: self._closing, seconds)

    def _lose(self, number: int) -> None:
        with self._changed:
            self._lost += number

    def _post(self, spans: Sequence[ExportedSpan], seconds: float) -> bool | None:
        """Send one request; return None if the collector took it, else whether it may take it later."""
        url = urlsplit(self._endpoint.url)
        kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
        path = f"{url.path or '/'}{f'?{url.query}' if url.query else ''}"
        try:
            with closing(kind(url.hostname or "", url.port, timeout=seconds)) as connection:
                body = traces_body(spans, self._service).encode()
                connection.request("POST", path, body, {"Content-Type": "application/json", **self._endpoint.headers})
                status = connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return True
        return None if 200 <= status < 300 else status in RETRYABLE
