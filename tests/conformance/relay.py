"""A relay on loopback between a client and an endpoint: the answers to one operation get lost after the endpoint has done its work."""

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit


class Relay(ThreadingHTTPServer):
    """Passes each request on to *endpoint_url* as it is, also its Host, and each answer back."""

    daemon_threads = True

    def __init__(self, endpoint_url: str) -> None:
        super().__init__(("127.0.0.1", 0), RelayHandler)
        self.target, self.url = urlsplit(endpoint_url).netloc, f"http://127.0.0.1:{self.server_port}"
        self.lost, self.left = "", 0
        self.counting = threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def loses(self, operation: str) -> bool:
        """Return whether the answer to *operation* gets lost."""
        with self.counting:
            is_lost = bool(operation) and operation == self.lost and self.left > 0
            self.left -= is_lost
            return is_lost

    @contextmanager
    def losing(self, operation: str, times: int = 1_000_000) -> Iterator[None]:
        """Lose the first *times* answers to *operation*."""
        self.lost, self.left = operation, times
        try:
            yield
        finally:
            self.lost = ""


class RelayHandler(BaseHTTPRequestHandler):
    """Serves one connection of a client, each request over a connection of its own to the endpoint: none is closed between two requests."""

    protocol_version = "HTTP/1.1"
    server: Relay

    def do_POST(self) -> None:
        """Pass one request on."""
        body = self.rfile.read(int(self.headers["content-length"]))
        endpoint = http.client.HTTPConnection(self.server.target, timeout=60)
        endpoint.request("POST", self.path, body, dict(self.headers))
        answer = endpoint.getresponse()
        content = answer.read()
        endpoint.close()
        if self.server.loses(self.headers.get("x-amz-target", "").rpartition(".")[2]):
            self.close_connection = True
            return
        self.send_response_only(answer.status)
        for name, value in answer.headers.items():
            if name.lower() not in ("connection", "content-length", "transfer-encoding"):
                self.send_header(name, value)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Log nothing."""
