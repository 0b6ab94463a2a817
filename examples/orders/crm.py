"""The CRM: a receiver of signed webhooks on this machine, which is away until it is repaired. It records what it accepts."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Any, NamedTuple, Self

from sedano.model.sources.signature_schemes import standard_signature

HOST = "127.0.0.1"
SECRET = f"whsec_{base64.b64encode(b'orders signs for the CRM.').decode()}"


class Received(NamedTuple):
    """A request that the CRM accepted: its `Idempotency-Key`, and the document."""

    key: str
    document: Mapping[str, Any]


class Crm:
    """The receiver; it listens until the `with` statement ends."""

    def __init__(self) -> None:
        """Listen on a free port of this machine; it is away."""
        self.received: list[Received] = []
        self.turned_away = self.forged = 0
        self._is_back, self._lock = Event(), Lock()
        self._server = ThreadingHTTPServer((HOST, 0), _handler(self._take))
        self._thread = Thread(target=self._server.serve_forever, name="crm", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def address(self) -> str:
        """The address of its webhook."""
        return f"http://{HOST}:{self._server.server_address[1]}/orders"

    def repair(self) -> None:
        """Accept requests from now on."""
        self._is_back.set()

    def _take(self, headers: Mapping[str, str], body: bytes) -> HTTPStatus:
        with self._lock:
            if not self._is_back.is_set():
                self.turned_away += 1
                return HTTPStatus.SERVICE_UNAVAILABLE
            key, at = headers["webhook-id"], headers["webhook-timestamp"]
            if headers["webhook-signature"] != f"v1,{standard_signature(key, at, body, SECRET).decode()}":
                self.forged += 1
                return HTTPStatus.UNAUTHORIZED
            self.received.append(Received(headers["Idempotency-Key"], json.loads(body)))
            return HTTPStatus.NO_CONTENT


def _handler(take: Callable[[Mapping[str, str], bytes], HTTPStatus]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(take(dict(self.headers.items()), body))
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the server's
            """Log nothing: the requests are recorded."""

    return Handler
