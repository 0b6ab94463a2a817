"""A door between the functions of a stage and one service, which can be shut or made to refuse as the service does when it is busy."""

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

THROTTLED = b'{"__type": "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException", "message": "too many"}'
AWAY = b'{"__type": "com.amazonaws.sqs#ServiceUnavailable", "message": "away"}'


class Door:
    """Passes requests on to `endpoint` while it is open; answers `weather`, a status and a body, while that is set."""

    def __init__(self, endpoint: str) -> None:
        self.weather: tuple[int, bytes] | None = None
        #: The requests that it refused.
        self.refused: list[bytes] = []
        self._host = urlsplit(endpoint).netloc
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        #: Where it stands.
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        door = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                status, headers, body = door.answer(self)
                self.send_response(status)
                for name, value in headers:
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        return Handler

    def answer(self, request: BaseHTTPRequestHandler) -> tuple[int, list[tuple[str, str]], bytes]:
        """What the service says, or what the weather says for it."""
        sent = request.rfile.read(int(request.headers.get("Content-Length", 0)))
        if self.weather is not None:
            self.refused.append(sent)
            return self.weather[0], [("Content-Type", "application/x-amz-json-1.0")], self.weather[1]
        connection = http.client.HTTPConnection(self._host, timeout=30)
        try:
            connection.request("POST", request.path, sent, dict(request.headers))
            found = connection.getresponse()
            body = found.read()
        finally:
            connection.close()
        kept = [
            (name, value) for name, value in found.getheaders() if name.lower() not in ("content-length", "transfer-encoding", "connection")
        ]
        return found.status, kept, body

    def refused_of(self, resource: str) -> int:
        """How many of the requests that it refused were about this table or queue."""
        return sum(resource.encode() in sent for sent in self.refused)

    @contextmanager
    def standing(self) -> Iterator["Door"]:
        """Stands while the block runs."""
        thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()
