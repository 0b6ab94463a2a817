"""The HTTP server of webhooks in a worker, on the listening socket that the supervisor keeps open during a reload.

A worker that stops accepts no more connections and answers those that it has accepted. The next worker accepts the connections that arrive
in between, which wait in the socket. Requests from a web page are refused, because senders of webhooks are not browsers.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Mapping
from urllib.parse import urlsplit

from sedano.app import Sedano
from sedano.errors import ConfigurationError
from sedano.host.sources import answering
from sedano.model.sources.webhooks import MAX_BODY_BYTES, Answer, ReceivedRequest
from sedano.web.loopback import LoopbackHandler, LoopbackServer

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
            ConfigurationError: it has no secret; the message says where to write one.
        """
        found = self._secrets.get(webhook, ())
        if not found:
            raise ConfigurationError(f'webhook {webhook}: it has no secret here; write {webhook} = "…" below [tool.sedano.dev.secrets]')
        return found


class WebhookServer(LoopbackServer):
    """Answers the webhooks of one app on *listening*."""

    daemon_threads = False
    block_on_close = True

    def __init__(self, app: Sedano, secrets: Mapping[str, tuple[str, ...]], listening: socket.socket) -> None:
        """Answer for *app*; nothing is accepted before `begin`."""
        super().__init__(listening, WebhookHandler, "sedano-webhooks")
        self._webhooks, self._lock = answering(app, ConfiguredSecrets(secrets)), threading.Lock()

    def answer(self, arrived: ReceivedRequest) -> Answer:
        """Return the answer to a request; one at a time."""
        with self._lock:
            return self._webhooks.answer(arrived)


class WebhookHandler(LoopbackHandler):
    """One request of a sender."""

    server: WebhookServer

    def respond(self) -> None:
        """Answer one request, and close the connection: the next one may be for another worker."""
        answer = self._answer()
        self.send(answer.status, {"content-type": "text/plain; charset=utf-8", **answer.headers}, answer.text.encode())

    def _answer(self) -> Answer:
        if any(self.headers.get(name) for name in BROWSERS):
            return Answer(403, "a web page may not call webhooks")
        length = self.headers.get("content-length", "0")
        if self.headers.get("transfer-encoding") or not (length.isascii() and length.isdecimal()):
            return Answer(411, "send the length of the body in content-length")
        if int(length) > MAX_BODY_BYTES:
            return Answer(413, f"a body may have at most {MAX_BODY_BYTES} bytes")
        body = self.rfile.read(int(length))
        address = urlsplit(self.path)
        return self.server.answer(ReceivedRequest(self.command, address.path, dict(self.headers.items()), body, address.query))
