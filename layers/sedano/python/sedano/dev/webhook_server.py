"""The HTTP server of webhooks in a worker, on the listening socket that the supervisor keeps over a reload.

A worker that stops accepts no more connections and answers those that it has accepted. The next worker accepts the connections that arrive
in between, which wait in the socket. Requests of a web page are refused: a sender of webhooks is not a browser.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from sedano.app import Sedano
from sedano.errors import ConfigurationError
from sedano.host.sources import answering
from sedano.model.sources.webhooks import MAX_BODY_BYTES, Answer, ReceivedRequest

SECONDS = 10.0
"""How long a connection may be silent."""
POLL_S = 0.05
BROWSERS = ("origin", "sec-fetch-mode")
"""Headers that browsers send."""


class ConfiguredSecrets:
    """The secrets of webhooks, from the project's settings (`sedano.ports.webhook_secrets.SecretTexts`)."""

    def __init__(self, secrets: Mapping[str, tuple[str, ...]]) -> None:
        """Hold *secrets* by the names of webhooks."""
        self._secrets = secrets

    def read(self, webhook: str) -> tuple[str, ...]:
        """Return the secrets of *webhook*.

        Raises:
            ConfigurationError: it has none; the message says where to write one.
        """
        found = self._secrets.get(webhook, ())
        if not found:
            raise ConfigurationError(f'webhook {webhook}: it has no secret here; write {webhook} = "…" below [tool.sedano.dev.secrets]')
        return found


class WebhookServer(ThreadingHTTPServer):
    """Answers the webhooks of one app on *listening*."""

    daemon_threads = False
    block_on_close = True

    def __init__(self, app: Sedano, secrets: Mapping[str, tuple[str, ...]], listening: socket.socket) -> None:
        """Answer for *app*; nothing is accepted before `begin`."""
        super().__init__(listening.getsockname()[:2], Handler, bind_and_activate=False)
        self.socket.close()
        listening.setblocking(False)
        self.socket = listening
        self._webhooks = answering(app, ConfiguredSecrets(secrets))
        self._lock, self._ending = threading.Lock(), threading.Lock()
        self._has_ended = False
        self._thread = threading.Thread(target=self.serve_forever, args=(POLL_S,), name="sedano-webhooks", daemon=True)

    def begin(self) -> None:
        """Accept connections, on a thread."""
        self._thread.start()

    def end(self) -> None:
        """Accept no more connections, and wait until those that were accepted are answered. May be called again, by any thread."""
        with self._ending:
            if not self._has_ended:
                self._has_ended = True
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

    def answer(self, arrived: ReceivedRequest) -> Answer:
        """Return the answer to a request; one at a time."""
        with self._lock:
            return self._webhooks.answer(arrived)


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    server: WebhookServer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "sedano", ""

    def respond(self) -> None:
        """Answer one request, and close the connection: the next one may be for another worker."""
        answer = self._answer()
        body = answer.text.encode()
        self.send_response(answer.status)
        for name, value in {"content-type": "text/plain; charset=utf-8", **answer.headers}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = respond  # noqa: N815 - the names that http.server calls

    def _answer(self) -> Answer:
        if any(self.headers.get(name) for name in BROWSERS):
            return Answer(403, "a web page may not call webhooks")
        length = self.headers.get("content-length", "0")
        if self.headers.get("transfer-encoding") or not (length.isascii() and length.isdecimal()):
            return Answer(411, "send the length of the body in content-length")
        if int(length) > MAX_BODY_BYTES:
            return Answer(413, f"a body may have {MAX_BODY_BYTES} bytes")
        body = self.rfile.read(int(length))
        return self.server.answer(ReceivedRequest(self.command, urlsplit(self.path).path, dict(self.headers.items()), body))

    def log_message(self, *_: object) -> None:
        """Write nothing: the events that a webhook publishes are shown by their tasks."""
