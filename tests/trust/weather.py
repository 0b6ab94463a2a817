"""A door between the functions of a stage and one service, which can be shut or made to refuse as the service does when it is busy."""

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit, urlunsplit

THROTTLED = b'{"__type": "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException", "message": "too many"}'
AWAY = b'{"__type": "com.amazonaws.sqs#ServiceUnavailable", "message": "away"}'


class Door:
    """A proxy for HTTP that passes requests on, except that it answers those to one service with `weather` while that is set.

    It is a proxy, not an address of the service, because the endpoint refuses a request whose host or signature is that of another address.
    """

    def __init__(self, endpoint: str, service: str) -> None:
        #: What the service answers now, a status and a body; None while it is well.
        self.weather: tuple[int, bytes] | None = None
        #: The requests that it refused.
        self.refused: list[bytes] = []
        self._host = urlsplit(endpoint).netloc
        self._signed_for = f"/{service}/aws4_request"
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        #: The variables by which a client finds it.
        self.variables = {"http_proxy": f"http://127.0.0.1:{self._server.server_port}", "no_proxy": ""}

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
                if self.command != "HEAD":
                    self.wfile.write(body)

            do_GET = do_PUT = do_DELETE = do_HEAD = do_POST  # noqa: N815 - the names that the server looks for

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        return Handler

    def is_asked(self, request: BaseHTTPRequestHandler) -> bool:
        """Return whether *request* is for the service whose weather this is."""
        return self._signed_for in request.headers.get("Authorization", "")

    def answer(self, request: BaseHTTPRequestHandler) -> tuple[int, list[tuple[str, str]], bytes]:
        """Return what the endpoint answers, or `weather` for it: a status, headers and a body."""
        sent = request.rfile.read(int(request.headers.get("Content-Length", 0)))
        if self.weather is not None and self.is_asked(request):
            self.refused.append(sent)
            return self.weather[0], [("Content-Type", "application/x-amz-json-1.0")], self.weather[1]
        asked = urlsplit(request.path)
        connection = http.client.HTTPConnection(self._host, timeout=30)
        try:
            connection.request(request.command, urlunsplit(("", "", asked.path, asked.query, "")), sent, dict(request.headers))
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
