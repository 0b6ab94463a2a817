"""The HTTP client of polls: one GET request for a page, with a deadline for the whole answer.

A request goes only to checked addresses (`sedano.outbound.addresses`). Redirects are not followed, and no proxy of the environment is used.
The certificate is that of the name.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any

from sedano.errors import Unavailable
from sedano.model.addresses import HttpUrl, http_url, may_connect
from sedano.model.sources.http_polls import MOST_BODY_BYTES, THIS_MACHINE, HttpAnswer, HttpPlan, polled_of, request_of
from sedano.model.sources.polls import Polled
from sedano.outbound.addresses import CheckedHosts, Resolve, connected, resolved

CONNECT_TIMEOUT_S, ANSWER_TIMEOUT_S = 5.0, 30.0
"""The seconds for a connection, and for a whole answer."""
_CHUNK = 65_536
_ADVICE = "a name must lead to public addresses; write the address itself, or read the source with a function"


class HttpSource:
    """A source over HTTP, made by `sedano.polls.http`.

    Args:
        plan: its requests.
        resolve: returns the addresses of a host.
        now: returns the time (epoch s), for dates in `Retry-After`.
        allows: whether a request may go to an IP address (`may_connect`).
        tls: the context of connections; by default one with the certificates of the system.
        answer_timeout_s: the seconds for a whole answer.
    """

    def __init__(
        self, plan: HttpPlan, resolve: Resolve = resolved, now: Callable[[], float] = time.time,
        allows: Callable[[str, bool], bool] = may_connect, tls: ssl.SSLContext | None = None, answer_timeout_s: float = ANSWER_TIMEOUT_S,
    ) -> None:  # fmt: skip
        """Poll this source; nothing is requested yet."""
        self.plan, self._now, self._tls, self._answer_timeout_s = plan, now, tls, answer_timeout_s
        self._hosts = CheckedHosts("poll", _ADVICE, resolve, allows, own=frozenset({THIS_MACHINE}))

    @property
    def secrets(self) -> tuple[str, ...]:
        """The names of the parameters that its headers need."""
        return tuple(self.plan.secrets.values())

    def read(self, cursor: Any, secret: Callable[[str], str]) -> Polled | None:
        """Return the page at *cursor*; None if nothing has changed. *secret* returns the text of a parameter.

        Raises:
            SourceBusy: the source asks to wait.
            Unavailable: it did not answer.
            ConfigurationError: a person has to correct the poll, or the source.
        """
        url, headers = request_of(self.plan, cursor, secret)
        return polled_of(self.plan, cursor, self._got(url, headers), self._now())

    def _got(self, url: str, headers: Mapping[str, str]) -> HttpAnswer:
        parts = http_url(url)
        connection = self._connection(parts)
        try:
            with _bounded(connection, self._answer_timeout_s):
                connection.request("GET", parts.target, headers=dict(headers))
                answer = connection.getresponse()
                named = {name.lower(): value for name, value in answer.getheaders()}
                return HttpAnswer(answer.status, named, _body(answer) if 200 <= answer.status < 300 else b"")
        except (OSError, HTTPException, ValueError) as error:
            raise Unavailable(f"poll: {parts.origin} did not answer: {type(error).__name__}: {error}"[:512]) from error
        finally:
            connection.close()

    def _connection(self, parts: HttpUrl) -> HTTPConnection:
        """Return a connection, not yet open, to the addresses of the host, which are all allowed now.

        Raises:
            Unavailable: the host has no address now.
            ConfigurationError: requests may not go to all of its addresses.
        """
        addresses = self._hosts.addresses(parts.host, parts.port)
        if not parts.secure:
            return _Connection(parts.host, parts.port, addresses)
        return _SecureConnection(parts.host, parts.port, addresses, self._tls or ssl.create_default_context())


@contextmanager
def _bounded(connection: HTTPConnection, seconds: float) -> Iterator[None]:
    """Open *connection*, and end it after *seconds*, however slowly its bytes arrive.

    Raises:
        TimeoutError: it was ended.
    """
    connection.connect()
    held, late = connection.sock, threading.Event()

    def end() -> None:
        late.set()
        with suppress(OSError):
            held.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    except (OSError, HTTPException, ValueError) as error:
        if late.is_set():
            raise TimeoutError(f"the answer is not complete after {seconds:g} s") from error
        raise
    finally:
        timer.cancel()
    if late.is_set():
        raise TimeoutError(f"the answer is not complete after {seconds:g} s")


def _body(answer: HTTPResponse) -> bytes:
    """Return the body of *answer*, at most one byte more than allowed."""
    found = bytearray()
    while len(found) <= MOST_BODY_BYTES:
        chunk = answer.read1(min(_CHUNK, MOST_BODY_BYTES + 1 - len(found)))
        if not chunk:
            if answer.length:
                raise HTTPException("the answer ended early")
            break
        found += chunk
    return bytes(found)


class _Connection(HTTPConnection):
    """A connection to one of *addresses* for *host*."""

    def __init__(self, host: str, port: int, addresses: Sequence[str]) -> None:
        super().__init__(host, port, timeout=CONNECT_TIMEOUT_S)
        self.addresses = addresses

    def connect(self) -> None:
        """Connect to a checked address."""
        self.sock = connected(self.addresses, self.port, CONNECT_TIMEOUT_S)
        self.sock.settimeout(ANSWER_TIMEOUT_S)


class _SecureConnection(HTTPSConnection):
    """A connection over TLS to one of *addresses*, with the certificate of *host*."""

    def __init__(self, host: str, port: int, addresses: Sequence[str], tls: ssl.SSLContext) -> None:
        super().__init__(host, port, timeout=CONNECT_TIMEOUT_S, context=tls)
        self.addresses, self.tls = addresses, tls

    def connect(self) -> None:
        """Connect to a checked address, and check the certificate."""
        plain = connected(self.addresses, self.port, CONNECT_TIMEOUT_S)
        plain.settimeout(CONNECT_TIMEOUT_S)
        try:
            self.sock = self.tls.wrap_socket(plain, server_hostname=self.host)
        except BaseException:
            plain.close()
            raise
        self.sock.settimeout(ANSWER_TIMEOUT_S)
