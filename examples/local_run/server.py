"""A service on this machine that the tasks of a demo call: an HTTP server on a free port, on a thread of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import TracebackType
from typing import Self

HOST = "127.0.0.1"
Answer = Callable[[str, Mapping[str, str], bytes], HTTPStatus]
"""Returns the status for a request: its path, its headers, and its body."""


class Server:
    """Answers GET and POST by *answer*, and with no body, until the `with` statement ends."""

    def __init__(self, name: str, answer: Answer) -> None:
        """Listen on a free port of this machine; *name* is the thread's."""
        self._server = ThreadingHTTPServer((HOST, 0), _handler(answer))
        self._thread = Thread(target=self._server.serve_forever, name=name, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def port(self) -> int:
        """The port at which it listens."""
        return int(self._server.server_address[1])


def _handler(answer: Answer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(answer(self.path, dict(self.headers.items()), body))
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the server's
            """Log nothing: the service records its calls."""

    return Handler
