"""Webhooks as sinks: one POST, signed by the Standard Webhooks specification 1.0, with the document's id as `Idempotency-Key`.

A delivery goes only to checked addresses (`sedano.outbound.addresses`), to the next one if one does not answer. Redirects are not followed,
and no proxy of the environment is used. The certificate is that of the name.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import urllib3
from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError

from sedano.errors import ConfigurationError, NotAccepted, Unavailable
from sedano.model.addresses import http_url, may_connect
from sedano.model.canonical_json import canonical_json
from sedano.model.sinks.content import Content
from sedano.model.sinks.deliveries import webhook_headers
from sedano.outbound.addresses import CheckedHosts, Resolve, first_answer, resolved
from sedano.ports.webhook_secrets import SecretTexts

CONNECT_TIMEOUT_S, READ_TIMEOUT_S = 2.0, 8.0
KEPT_S = 300.0
"""How long the secrets are cached; after an answer that refuses the signature they are read again."""
_UNKNOWN = frozenset({401, 403, 404, 405, 407})
"""Statuses that a person must look at: the receiver does not know the address, or does not accept the signature."""
_BUSY = frozenset({408, 409, 423, 425, 429})
_NOT_CONNECTED = (ConnectTimeoutError, NewConnectionError)
"""The errors of a delivery that has not reached its receiver, so it may go to another address."""
_ADVICE = "deliveries go only to public addresses, or to an address that the place of the sink itself contains"


class WebhookSink:
    """The webhook of one sink.

    Args:
        address: its URL.
        secrets: the secrets with which deliveries are signed, by the sink's name.
        now: returns the time (epoch s) that is signed.
        resolve: returns the addresses of a host.
        allows: whether a delivery may go to an IP address (`may_connect`).
        tls: the context of connections; by default that of urllib3, with the certificates of the system.
    """

    def __init__(
        self, address: str, secrets: SecretTexts, now: Callable[[], float] = time.time, resolve: Resolve = resolved,
        allows: Callable[[str, bool], bool] = may_connect, tls: Any = None,
    ) -> None:  # fmt: skip
        """Use this webhook; nothing is sent yet."""
        self._url, self._hosts = http_url(address), CheckedHosts("webhook", _ADVICE, resolve, allows)
        self._secrets, self._now, self._tls = secrets, now, tls
        self._kept: tuple[float, tuple[str, ...]] = (0.0, ())
        self._pools: dict[str, urllib3.HTTPConnectionPool] = {}
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
        try:
            answer = first_answer(self._addresses(), partial(self._sent, body, headers), CONNECT_TIMEOUT_S, _NOT_CONNECTED)
        except HTTPError as error:
            raise Unavailable(f"sink {sink}: the webhook did not answer: {type(error).__name__}") from error
        with answer:
            answer.drain_conn() if int(answer.headers.get("content-length") or _LONG) < _LONG else answer.close()
        return int(answer.status)

    def _sent(self, body: bytes, headers: Mapping[str, str], address: str, seconds: float) -> urllib3.BaseHTTPResponse:
        pool = self._pools.get(address) or self._connections(address)
        try:
            answer = pool.urlopen(
                "POST", self._url.target, body=body, headers=headers, redirect=False, retries=False, preload_content=False,
                decode_content=False, timeout=urllib3.Timeout(connect=seconds, read=READ_TIMEOUT_S),
            )  # fmt: skip
        except _NOT_CONNECTED:
            with self._lock:
                self._pools.pop(address, None)
            raise
        with self._lock:
            self._pools.setdefault(address, pool)
        return answer

    def _addresses(self) -> Sequence[str]:
        """Return the addresses of the host that are allowed now; first those that have answered.

        Raises:
            Unavailable: the host has no address now.
            ConfigurationError: deliveries may not go to all of its addresses.
        """
        found = self._hosts.addresses(self._url.host, self._url.port)
        with self._lock:
            self._pools = {address: pool for address, pool in self._pools.items() if address in found}
            return sorted(found, key=lambda address: address not in self._pools)

    def _connections(self, address: str) -> urllib3.HTTPConnectionPool:
        url = self._url
        if not url.secure:
            return urllib3.HTTPConnectionPool(address, url.port, maxsize=4)
        return urllib3.HTTPSConnectionPool(
            address, url.port, maxsize=4, server_hostname=url.host, assert_hostname=url.host, ssl_context=self._tls,
        )  # fmt: skip

    def _signing(self, sink: str) -> tuple[str, ...]:
        read_at, secrets = self._kept
        if not secrets or self._now() - read_at > KEPT_S:
            secrets = self._secrets.read(sink)
            self._kept = (self._now(), secrets)
        return secrets


_LONG = 65_536
"""A longer response, or one of unknown length, is not read: its connection is closed."""


def _meaning(words: str, status: int) -> Exception:
    """Return what a *status* other than 2xx means for the delivery."""
    if status >= 500 or status in _BUSY:
        return Unavailable(words)
    if status < 400:
        return ConfigurationError(f"{words}: redirects are not followed; give the sink the address to which it leads")
    if status in _UNKNOWN:
        return ConfigurationError(f"{words}: is the address right, and does the receiver have the secret of this sink?")
    return NotAccepted(words)
