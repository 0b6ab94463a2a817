"""A collector of OTLP on this machine: an HTTP server that keeps what it is sent, and answers as it is told to."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Collector:
    """A server; *answers* are the statuses of the next requests, then 200."""

    def __init__(self, *answers: int) -> None:
        """Start it."""
        self.answers, self.requests = [*answers], list[tuple[str, dict[str, str], Any]]()
        kept = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                """Keep the request."""
                body = self.rfile.read(int(self.headers["Content-Length"]))
                kept.requests.append((self.path, dict(self.headers), json.loads(body)))
                self.send_response(kept.answers.pop(0) if kept.answers else 200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *_: object) -> None:  # noqa: A002 - the name of the base
                """Log nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def spans(self) -> list[dict[str, Any]]:
        """Return all spans of the requests so far."""
        found = [scope for _, _, body in [*self.requests] for one in body["resourceSpans"] for scope in one["scopeSpans"]]
        return [span for scope in found for span in scope["spans"]]

    def close(self) -> None:
        """Stop it."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
