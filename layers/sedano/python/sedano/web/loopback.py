"""HTTP servers for this machine only: they listen on 127.0.0.1, and close each connection after one request.

They serve the pages (`sedano.web.server`) and the webhooks of `sedano dev` (`sedano.dev.webhook_server`). The listening socket belongs
to the caller: connections that arrive before a server starts, or between two servers, wait in it.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from sedano.errors import UsageError

HOST = "127.0.0.1"
BACKLOG = 128
SECONDS = 10.0
"""The seconds after which an idle connection is closed."""
POLL_S = 0.05
NO_BODY = frozenset({304})
"""Statuses of answers without a body and a content-length."""


def listener(port: int, last: int = 0, option: str = "--port") -> socket.socket:
    """Return a listening socket on *port*; 0: on a free port, if possible the *last* one.

    Raises:
        UsageError: another program listens on *port*; the message names the *option* that sets the port.
    """
    try:
        return socket.create_server((HOST, port or last), backlog=BACKLOG)
    except OSError as wrong:
        if port or not last:
            raise UsageError(f"port {port}: {wrong.strerror}; give another one with {option}, or 0 for a free one") from None
    return socket.create_server((HOST, 0), backlog=BACKLOG)


class LoopbackServer(ThreadingHTTPServer):
    """Answers on a listening socket, each connection on its own thread."""

    def __init__(self, listening: socket.socket, handler: type[LoopbackHandler], name: str) -> None:
        """Answer with *handler*, on a thread called *name*; nothing is accepted before `begin` or `serve`."""
        super().__init__(listening.getsockname()[:2], handler, bind_and_activate=False)
        self.socket.close()
        listening.setblocking(False)  # a process that shares it may have accepted the connection that woke this one
        self.socket = listening
        self._ending, self._has_ended = threading.Lock(), False
        self._thread = threading.Thread(target=self.serve, name=name, daemon=True)

    def serve(self) -> None:
        """Accept connections until `end`, or until an interruption."""
        self.serve_forever(POLL_S)

    def begin(self) -> None:
        """Accept connections, on a thread."""
        self._thread.start()

    def end(self) -> None:
        """Accept no more connections; if the server blocks on close, wait until the accepted ones are answered.

        May be called again, by any thread.
        """
        with self._ending:
            if not self._has_ended:
                self._has_ended = True
                if self._thread.ident is not None:
                    self.shutdown()
                    self._thread.join()
                self.server_close()

    def get_request(self) -> tuple[socket.socket, Any]:
        """Accept a connection that blocks and times out."""
        connection, address = super().get_request()
        connection.settimeout(SECONDS)
        return connection, address

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a connection that ended in the middle of a request."""


class LoopbackHandler(BaseHTTPRequestHandler):
    """One connection: one request, then it is closed."""

    protocol_version = "HTTP/1.1"
    server_version, sys_version = "sedano", ""

    def respond(self) -> None:
        """Answer one request of any method, with `send`."""
        raise NotImplementedError

    def send(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        """Send an answer, and close the connection."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if status not in NO_BODY:
            self.send_header("content-length", str(len(body)))
        self.send_header("connection", "close")
        self.end_headers()
        if self.command != "HEAD" and status not in NO_BODY:
            self.wfile.write(body)

    def _respond(self) -> None:
        self.respond()

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = _respond  # noqa: N815 - the names that http.server calls

    def log_message(self, *_: object) -> None:
        """Write nothing: an address may contain a person's search, and the tasks of a webhook's events are logged anyway."""
