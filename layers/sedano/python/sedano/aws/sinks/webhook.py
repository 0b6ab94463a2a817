"""Webhooks as sinks: one POST, signed by the Standard Webhooks specification 1.0, with the document's id as `Idempotency-Key`.

The connection goes to an address that was checked (`sedano.model.sinks.deliveries.may_connect`): a name is resolved once for each delivery,
and the address is used as it was found, so that no second answer of the name server can lead to another host. Redirects are not followed,
and no proxy of the environment is used. The certificate is that of the name.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import SplitResult, urlsplit

import urllib3

from sedano.errors import ConfigurationError, NotAccepted, Unavailable
from sedano.model.canonical_json import canonical_json
from sedano.model.sinks.content import Content
from sedano.model.sinks.deliveries import may_connect, webhook_headers
from sedano.model.sinks.places import literal_address
from sedano.ports.webhook_secrets import SecretTexts

CONNECT_TIMEOUT_S, READ_TIMEOUT_S = 2.0, 8.0
KEPT_S = 300.0
"""How long the secrets are cached; after an answer that refuses the signature they are read again."""
_UNKNOWN = frozenset({401, 403, 404, 405, 407})
"""Statuses that a person must look at: the receiver does not know the address, or does not accept the signature."""
_BUSY = frozenset({408, 409, 423, 425, 429})
Resolve = Callable[[str, int], Sequence[str]]


def resolved(host: str, port: int) -> list[str]:
    """Return the addresses of *host*.

    Raises:
        OSError: it has none, or the name server does not answer.
    """
    return list(dict.fromkeys(str(found[4][0]) for found in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)))


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
        self._parts: SplitResult = urlsplit(address)
        self._secrets, self._now, self._resolve, self._allows, self._tls = secrets, now, resolve, allows, tls
        self._kept: tuple[float, tuple[str, ...]] = (0.0, ())
        self._pools: dict[str, urllib3.HTTPConnectionPool] = {}
        self._lock = threading.Lock()

    def write(self, sink: str, content: Content) -> bool:
        """Deliver *content*; see `sedano.ports.sinks.Sinks.write`. A webhook does not report whether it had the document."""
        body = canonical_json(content).encode()
        headers = {**webhook_headers(content, body, self._signing(sink), self._now()), "Host": self._parts.netloc, "User-Agent": "sedano"}
        status = self._posted(sink, body, headers)
        if 200 <= status < 300:
            return True
        if status in (401, 403):
            self._kept = (0.0, ())
        raise _meaning(f"the webhook {self._parts.scheme}://{self._parts.netloc} answered with the status {status}", status)

    def _posted(self, sink: str, body: bytes, headers: dict[str, str]) -> int:
        path = self._parts.path or "/"
        target = f"{path}?{self._parts.query}" if self._parts.query else path
        try:
            answer = self._pool().urlopen(
                "POST", target, body=body, headers=headers, redirect=False, retries=False, preload_content=False, decode_content=False,
            )  # fmt: skip
        except urllib3.exceptions.HTTPError as error:
            raise Unavailable(f"sink {sink}: the webhook did not answer: {type(error).__name__}") from error
        with answer:
            answer.drain_conn() if int(answer.headers.get("content-length") or _LONG) < _LONG else answer.close()
        return int(answer.status)

    def _pool(self) -> urllib3.HTTPConnectionPool:
        """Return the connections to an address of the host that is allowed now.

        Raises:
            Unavailable: the host has no address now.
            ConfigurationError: deliveries may not go to any of its addresses.
        """
        address = self._checked()
        with self._lock:
            if address not in self._pools:
                self._pools = {address: self._connections(address)}
            return self._pools[address]

    def _checked(self) -> str:
        host, literal = self._parts.hostname or "", literal_address(self._parts.hostname or "")
        try:
            found = [literal] if literal is not None else self._resolve(host, self._port)
        except OSError as error:
            raise Unavailable(f"the host {host} of a webhook has no address now: {error}") from error
        allowed = [one for one in found if self._allows(one, literal is None)]
        if len(allowed) < len(found) or not found:
            refused = next((one for one in found if one not in allowed), "none")
            raise ConfigurationError(
                f"the host {host} of a webhook has the address {refused}, which is not public: deliveries go only to public addresses, or "
                "to an address that the place of the sink itself contains"
            )
        return allowed[0]

    @property
    def _port(self) -> int:
        return self._parts.port or (443 if self._parts.scheme == "https" else 80)

    def _connections(self, address: str) -> urllib3.HTTPConnectionPool:
        timeout = urllib3.Timeout(connect=CONNECT_TIMEOUT_S, read=READ_TIMEOUT_S)
        if self._parts.scheme != "https":
            return urllib3.HTTPConnectionPool(address, self._port, timeout=timeout, maxsize=4)
        host = self._parts.hostname
        return urllib3.HTTPSConnectionPool(
            address, self._port, timeout=timeout, maxsize=4, server_hostname=host, assert_hostname=host, ssl_context=self._tls,
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
