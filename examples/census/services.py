"""Two services that tasks call, on this machine: an index, and an archive that is down until it is repaired. They record their calls.

They are the demo's witness for the promises of limits and circuits, which are checked at the called service.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from types import TracebackType
from typing import Self

HOST = "127.0.0.1"
INDEX, ARCHIVE = "index", "archive"
Noted = Callable[[str, str], bool]


@dataclass(frozen=True, slots=True)
class Call:
    """One call: its moment (epoch s), its service, the number of its item, and whether it was served."""

    at: float
    service: str
    number: str
    served: bool


class Services:
    """The two services; they listen until the `with` statement ends."""

    def __init__(self) -> None:
        """Listen on a free port of this machine; the archive is down."""
        self.calls: list[Call] = []
        self._is_whole = Event()
        self._server = ThreadingHTTPServer((HOST, 0), _handler(self._note))
        self._thread = Thread(target=self._server.serve_forever, name="services", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def port(self) -> int:
        """The port at which they listen."""
        return int(self._server.server_address[1])

    def repair(self) -> None:
        """Let the archive work from now on."""
        self._is_whole.set()

    def _note(self, service: str, number: str) -> bool:
        served = service == INDEX or self._is_whole.is_set()
        self.calls.append(Call(time.time(), service, number, served))
        return served


def _handler(note: Noted) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            service, _, number = self.path.strip("/").partition("/")
            served = note(service, number)
            self.send_response(HTTPStatus.OK if served else HTTPStatus.SERVICE_UNAVAILABLE)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the server's
            """Log nothing: the calls are recorded."""

    return Handler
