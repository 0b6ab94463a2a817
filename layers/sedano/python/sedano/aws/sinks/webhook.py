"""Webhooks as sinks: one POST, signed by the Standard Webhooks specification 1.0, with the document's id as `Idempotency-Key`.

A delivery goes only to checked addresses (`sedano.outbound.addresses`), to the next one if one does not answer. Redirects are not followed,
and no proxy of the environment is used. The certificate is that of the name. A delivery was made
when its status is known, whatever follows.
"""

from __future__ import annotations

import re
import select
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.client import HTTPException, HTTPResponse

from sedano.errors import ConfigurationError, NotAccepted, Unavailable
from sedano.model.addresses import http_url, may_connect
from sedano.model.canonical_json import canonical_json
from sedano.model.sinks.content import Content
from sedano.model.sinks.deliveries import webhook_headers
from sedano.outbound.addresses import CheckedHosts, Resolve, resolved
from sedano.outbound.connections import CheckedConnection, bounded, connection_to
from sedano.ports.webhook_secrets import SecretTexts

CONNECT_TIMEOUT_S, READ_TIMEOUT_S = 2.0, 8.0
KEPT_S = 300.0
"""How long the secrets are cached; after an answer that refuses the signature they are read again."""
_UNKNOWN = frozenset({401, 403, 404, 405, 407})
"""Statuses that a person must look at: the receiver does not know the address, or does not accept the signature."""
_BUSY = frozenset({408, 409, 423, 425, 429})
_ADVICE = "deliveries go only to public addresses, or to an address that the place of the sink itself contains"


class WebhookSink:
    """The webhook of one sink.

    Args:
        address: its URL.
        secrets: the secrets with which deliveries are signed, by the sink's name.
        now: returns the time (epoch s) that is signed.
        resolve: returns the addresses of a host.
        allows: whether a delivery may go to an IP address (`may_connect`).
        tls: the context of connections; by default one with the certificates of the system.
        answer_timeout_s: the seconds for a whole answer.
    """

    def __init__(
        self, address: str, secrets: SecretTexts, now: Callable[[], float] = time.time, resolve: Resolve = resolved,
        allows: Callable[[str, bool], bool] = may_connect, tls: ssl.SSLContext | None = None, answer_timeout_s: float = READ_TIMEOUT_S,
    ) -> None:  # fmt: skip
        """Use this webhook; nothing is sent yet."""
        self._url, self._hosts = http_url(address), CheckedHosts("webhook", _ADVICE, resolve, allows)
        self._secrets, self._now, self._tls = secrets, now, tls
        self._kept: tuple[float, tuple[str, ...]] = (0.0, ())
        self._answer_timeout_s, self._answered = answer_timeout_s, ""
        self._idle: list[CheckedConnection] = []
        self._lock = threading.Lock()

    def write(self, sink: str, content: Content) -> bool:
        """Deliver *content*; see `sedano.ports.sinks.Sinks.write`. A webhook does not report whether it had the document."""
        body = canonical_json(content).encode()
        signed = webhook_headers(content, body, self._signing(sink), self._now())
        headers = {**signed, "Host": self._url.host_header, "User-Agent": "sedano"}
        status = self._posted(sink, body, headers)
        if 200 <= status < 300:
            return True
        if status in (401, 403):
            self._kept = (0.0, ())
        raise _meaning(f"the webhook {self._url.origin} answered with the status {status}", status)

    def _posted(self, sink: str, body: bytes, headers: Mapping[str, str]) -> int:
        """Return the status of the answer; once it is known, the rest of the answer decides only whether the connection is kept."""
        connection, status, again = self._connection(), 0, False
        try:
            with bounded(connection, self._answer_timeout_s):
                with suppress(BrokenPipeError):  # an answer that came before the whole request was read
                    connection.request("POST", self._url.target, body=body, headers=dict(headers))
                answer = connection.getresponse()
                status, self._answered = answer.status, connection.address
                again = _drained(answer)
        except (OSError, HTTPException, ValueError) as error:
            if not status:
                connection.close()
                raise Unavailable(f"sink {sink}: the webhook did not answer: {type(error).__name__}") from error
            again = False
        self._keep(connection) if again else connection.close()
        return status

    def _connection(self) -> CheckedConnection:
        """Return a kept connection that is still open, to an address that is allowed now; else one that is not yet open.

        Raises:
            Unavailable: the host has no address now.
            ConfigurationError: deliveries may not go to all of its addresses.
        """
        found = self._hosts.addresses(self._url.host, self._url.port)
        with self._lock:
            kept, self._idle = self._idle, []
            self._idle = [one for one in kept if one.address in found and not _is_ended(one)]
            for one in kept:
                if one not in self._idle:
                    one.close()
            if self._idle:
                return self._idle.pop()
            addresses = sorted(found, key=lambda address: address != self._answered)
        if self._url.secure and self._tls is None:
            self._tls = ssl.create_default_context()
        return connection_to(self._url, addresses, CONNECT_TIMEOUT_S, READ_TIMEOUT_S, self._tls if self._url.secure else None)

    def _keep(self, connection: CheckedConnection) -> None:
        with self._lock:
            if len(self._idle) < _MOST_IDLE:
                self._idle.append(connection)
                return
        connection.close()

    def _signing(self, sink: str) -> tuple[str, ...]:
        read_at, secrets = self._kept
        if not secrets or self._now() - read_at > KEPT_S:
            secrets = self._secrets.read(sink)
            self._kept = (self._now(), secrets)
        return secrets


_LONG, _MOST_IDLE = 65_536, 4
"""A response of so many bytes, or of unknown length, is not read: its connection is closed. At most so many connections are kept."""
_is_length = re.compile(r"[0-9]{1,6}").fullmatch


def _drained(answer: HTTPResponse) -> bool:
    """Read the rest of *answer* if it is short; return whether its connection can take another request."""
    lengths = answer.headers.get_all("content-length") or []
    if answer.status != 204 and (answer.chunked or len(lengths) != 1 or not _is_length(lengths[0]) or int(lengths[0]) >= _LONG):
        return False
    answer.read()
    return not answer.will_close


def _is_ended(connection: CheckedConnection) -> bool:
    """Return whether an idle *connection* was ended by the receiver, or has bytes that no request asked for."""
    poll = select.poll()
    poll.register(connection.sock, select.POLLIN)
    return bool(poll.poll(0))


def _meaning(words: str, status: int) -> Exception:
    """Return what a *status* other than 2xx means for the delivery."""
    if status >= 500 or status in _BUSY:
        return Unavailable(words)
    if status < 400:
        return ConfigurationError(f"{words}: redirects are not followed; give the sink the address to which it leads")
    if status in _UNKNOWN:
        return ConfigurationError(f"{words}: is the address right, and does the receiver have the secret of this sink?")
    return NotAccepted(words)
