"""A server on this machine, for the clients that send requests to URLs that users give: it keeps requests and answers in order."""

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

from sedano.model.sources.http_polls import HttpAnswer


class Received(NamedTuple):
    """A request: its *path*, its *headers* by name in lower case, and its *body*."""

    path: str
    headers: dict[str, str]
    body: bytes


class Peer(ThreadingHTTPServer):
    """A server that keeps the requests, and answers with the next of *answers*, the last one again and again; with a *certificate* (a file
    with its key) over TLS."""

    def __init__(self, *answers: HttpAnswer, certificate: Path | None = None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers, self.requests, self.connections = [*answers], list[Received](), 0
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.socket = context.wrap_socket(self.socket, server_side=True)

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.server_port}"

    def process_request(self, request: Any, client_address: Any) -> None:
        """Count the connection."""
        self.connections += 1
        super().process_request(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """Answers the requests of one connection."""

    protocol_version = "HTTP/1.1"
    server: Peer

    def do_POST(self) -> None:
        """Keep the request and answer."""
        body = self.rfile.read(int(self.headers["content-length"] or 0))
        self.server.requests.append(Received(self.path, {name.lower(): text for name, text in self.headers.items()}, body))
        given = self.server.answers.pop(0) if len(self.server.answers) > 1 else self.server.answers[0]
        self.send_response(given.status)
        for name, text in {"content-length": str(len(given.body)), **given.headers}.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(given.body)

    def do_GET(self) -> None:
        """Keep the request, answer and close the connection."""
        self.do_POST()
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name in the base class
        """Say nothing."""


@contextmanager
def served(*answers: HttpAnswer, certificate: Path | None = None) -> Iterator[Peer]:
    """Serve *answers* until the block ends."""
    server = Peer(*answers, certificate=certificate)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
