"""Answers health probes of Kubernetes, ECS or a load balancer for a process of workers: plain HTTP, `GET /live` and `GET /ready`.

200 means yes, 503 means no; the body gives the reason in one line of text. The answers contain no task names and no data. The server
listens only on this machine unless an address is given, because it answers every caller that reaches it.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from sedano.errors import UsageError
from sedano.model.beats import ProbeAnswer

LOOPBACK = "127.0.0.1"
TIMEOUT_S = 5.0
"""How long a caller may take to send its request, in seconds."""
MOST_PORT = 65_535


class ServerAddress(NamedTuple):
    """The address on which a server of probes listens."""

    host: str
    port: int


def address(text: str) -> ServerAddress:
    """Return the address that *text* names: `8080` (only this machine), `0.0.0.0:8080` or `[::]:8080`.

    Raises:
        UsageError: it is not an address.
    """
    host, _, port = text.rpartition(":")
    if not port.isascii() or not port.isdigit() or int(port) > MOST_PORT:
        raise UsageError(f"--health: {text!r} is not a port; write 8080, or 0.0.0.0:8080 for probes from other machines")
    return ServerAddress(host.strip("[]") or LOOPBACK, int(port))


class HealthServer:
    """Answers probes, on threads of its own, with the answer of *look*."""

    def __init__(self, where: ServerAddress, look: Callable[[], ProbeAnswer]) -> None:
        """Listen at once; *port* 0 selects a free one.

        Raises:
            UsageError: the address is taken, or not one of this machine.
        """
        try:
            self._server = _Server(where, look)
        except OSError as error:
            raise UsageError(f"--health: cannot listen on {where.host}:{where.port}: {error.strerror or error}") from error
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, name="sedano-health", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, where: ServerAddress, look: Callable[[], ProbeAnswer]) -> None:
        self.address_family = socket.AF_INET6 if ":" in where.host else socket.AF_INET
        self.look = look
        super().__init__(where, _Answer)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a caller that closed its connection."""


class _Answer(BaseHTTPRequestHandler):
    server: _Server
    timeout = TIMEOUT_S

    def do_GET(self) -> None:
        """Answer a probe."""
        found = self.server.look()
        answers = {"/live": found.is_live, "/ready": found.is_ready}
        known = answers.get(self.path.partition("?")[0])
        text = f"{found.why}\n" if known is not None else "ask /live or /ready\n"
        body = text.encode()
        self.send_response(404 if known is None else 200 if known else 503)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_HEAD = do_GET  # noqa: N815 - the name that http.server calls

    def log_message(self, *_: Any) -> None:
        """Log nothing: one probe a second would fill the log."""
