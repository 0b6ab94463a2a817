"""The HTTP server of the pages: it reads requests, sends what `respond` decides, and listens on 127.0.0.1 alone."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from sedano.app import Sedano
from sedano.errors import UsageError
from sedano.views.screens import Screen, ScreenQuery, screen
from sedano.web.frame import SiteName
from sedano.web.respond import HEADERS, Response, Site, respond
from sedano.web.visitors import PageRequest, Visitors

HOST = "127.0.0.1"
BACKLOG = 128
SECONDS = 10.0
"""How long a connection may be silent."""
POLL_S = 0.1
NO_BODY = frozenset({304})


def listener(port: int) -> socket.socket:
    """Return a listening socket on *port*, or on a free one where that is 0.

    Raises:
        UsageError: another program listens on *port*.
    """
    try:
        return socket.create_server((HOST, port), backlog=BACKLOG)
    except OSError as wrong:
        raise UsageError(f"port {port}: {wrong.strerror}; give another one with --port, or 0 for a free one") from None


def site(app: Sedano, place: SiteName) -> Site:
    """Return the pages of *app*. One page is read at a time: two at once make neither faster and both dearer."""
    lock = threading.Lock()

    def read(asked: ScreenQuery) -> Screen:
        with lock:
            return screen(app, asked)

    return Site(read, place)


class PageServer(ThreadingHTTPServer):
    """Answers on *listening*."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, listening: socket.socket, answer: Callable[[PageRequest], Response]) -> None:
        """Answer requests with *answer*; nothing is accepted before `serve` or `begin`."""
        super().__init__(listening.getsockname()[:2], PageHandler, bind_and_activate=False)
        self.socket.close()
        self.socket, self.answer = listening, answer
        self._thread = threading.Thread(target=self.serve, name="sedano-pages", daemon=True)

    def serve(self) -> None:
        """Accept connections until `end`, or until an interruption."""
        self.serve_forever(POLL_S)

    def begin(self) -> None:
        """Accept connections, on a thread."""
        self._thread.start()

    def end(self) -> None:
        """Accept no more connections."""
        self.shutdown()
        self._thread.join()
        self.server_close()

    def get_request(self) -> tuple[socket.socket, Any]:
        """Accept a connection that times out."""
        connection, address = super().get_request()
        connection.settimeout(SECONDS)
        return connection, address

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a connection that ended in the middle of a request."""


class PageHandler(BaseHTTPRequestHandler):
    """One connection: one request, then it is closed."""

    server: PageServer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "sedano", ""

    def respond(self) -> None:
        """Send the answer to one request."""
        names = {name.lower() for name in self.headers}
        answer = self.server.answer(PageRequest(self.command, self.path, {name: tuple(self.headers.get_all(name, ())) for name in names}))
        self.send_response(answer.status)
        for name, value in {**HEADERS, **answer.headers}.items():
            self.send_header(name, value)
        if answer.status not in NO_BODY:
            self.send_header("content-length", str(len(answer.body)))
        self.send_header("connection", "close")
        self.end_headers()
        if self.command != "HEAD" and answer.status not in NO_BODY:
            self.wfile.write(answer.body)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = respond  # noqa: N815 - the names that http.server calls

    def log_message(self, *_: object) -> None:
        """Write nothing: an address has what a person searched for."""


def answering(pages: Site, visitors: Visitors) -> Callable[[PageRequest], Response]:
    """Return the answer to each request for *pages*."""
    return lambda request: respond(request, pages, visitors)
