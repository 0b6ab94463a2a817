"""Sources of `@app.poll(…)`: pages of items from an HTTP address, or from a function of yours.

    from sedano.polls import Polled, http

    @app.poll("orders", every(300), http("https://api.example.com/orders?since={cursor}", items="orders", cursor="next"), identity="id")
    @app.task
    def ordered(order: dict[str, Any]) -> None: ...

A request goes to an address that was checked (`sedano.model.sinks.deliveries.may_connect`): a name is resolved once for each request, and
its addresses are used as they were found, the next one if one does not answer. Redirects are not followed, and no proxy of the environment
is used. The certificate is that of the name.
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
from urllib.parse import urlsplit

from sedano.errors import ConfigurationError, Unavailable
from sedano.errors import SourceBusy as SourceBusy
from sedano.model.sinks.deliveries import may_connect
from sedano.model.sinks.places import literal_address
from sedano.model.sources.http_polls import MOST_BODY_BYTES, THIS_MACHINE, HttpAnswer, HttpPlan, NextCursor, plan_of, polled_of, request_of
from sedano.model.sources.polls import Polled as Polled
from sedano.model.sources.polls import call_id as call_id

CONNECT_TIMEOUT_S, ANSWER_TIMEOUT_S = 5.0, 30.0
"""The seconds for a connection, and for a whole answer."""
_LEAST_S = 0.01
_CHUNK = 65_536
Resolve = Callable[[str, int], Sequence[str]]


def http(
    url: str, *, items: str = "", cursor: str | NextCursor | None = None, start: str = "", headers: Mapping[str, str] | None = None
) -> HttpSource:  # fmt: skip
    """Return a source of `@app.poll`: a GET request whose answer is JSON with a list of items.

    A request sends the `ETag` and `Last-Modified` of the last answer back, so an unchanged source answers 304, and nothing is published.
    429 and 503 with `Retry-After` put the poll off; any other failure fails the poll, which is tried again.

    Args:
        url: https://…, or http:// of this machine; ``{cursor}`` in it is replaced by the cursor.
        items: the path of the list in the answer, with dots between the keys (``data.orders``); by default the answer is the list.
        cursor: the path of the next cursor in the answer, or a function of the answer; without a next cursor (null) the same page is read
            again, and only its new items are published.
        start: the first cursor.
        headers: headers of the request; a value ``ssm:/shop/orders/authorization`` is the text of this parameter, which the worker reads.

    Raises:
        OptionError: an option cannot be honoured.
    """
    return HttpSource(plan_of(url, items, cursor, start, headers))


def resolved(host: str, port: int) -> list[str]:
    """Return the addresses of *host*.

    Raises:
        OSError: it has none, or the name server does not answer.
    """
    return list(dict.fromkeys(str(found[4][0]) for found in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)))


class HttpSource:
    """A source over HTTP, made by `http`.

    Args:
        plan: its requests.
        resolve: returns the addresses of a host.
        now: returns the time (epoch s), for dates in `Retry-After`.
        tls: the context of connections; by default one with the certificates of the system.
    """

    def __init__(
        self, plan: HttpPlan, resolve: Resolve = resolved, now: Callable[[], float] = time.time, tls: ssl.SSLContext | None = None
    ) -> None:  # fmt: skip
        """Poll this source; nothing is requested yet."""
        self.plan, self._resolve, self._now, self._tls = plan, resolve, now, tls

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
        parts = urlsplit(url)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection = self._connection(parts.scheme, parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))
        try:
            with _bounded(connection):
                connection.request("GET", target, headers=dict(headers))
                answer = connection.getresponse()
                named = {name.lower(): value for name, value in answer.getheaders()}
                return HttpAnswer(answer.status, named, _body(answer) if 200 <= answer.status < 300 else b"")
        except (OSError, HTTPException, ValueError) as error:
            raise Unavailable(f"poll: {parts.scheme}://{parts.netloc} did not answer: {type(error).__name__}: {error}"[:512]) from error
        finally:
            connection.close()

    def _connection(self, scheme: str, host: str, port: int) -> HTTPConnection:
        """Return a connection, not yet open, to the addresses of *host*, which are all allowed now.

        Raises:
            Unavailable: the host has no address now.
            ConfigurationError: requests may not go to all of its addresses.
        """
        addresses = self._checked(host, port)
        if scheme != "https":
            return _Connection(host, port, addresses)
        return _SecureConnection(host, port, addresses, self._tls or ssl.create_default_context())

    def _checked(self, host: str, port: int) -> Sequence[str]:
        literal = literal_address(host)
        try:
            found = [literal] if literal is not None else self._resolve(host, port)
        except OSError as error:
            raise Unavailable(f"poll: the host {host} has no address now: {error}") from error
        named = literal is None and host != THIS_MACHINE
        refused = next((one for one in found if not may_connect(one, named)), None)
        if refused is not None or not found:
            raise ConfigurationError(
                f"poll: the host {host} has the address {refused or 'none'}, which is not public: a name must lead to public addresses; "
                "write the address itself, or read the source with a function"
            )
        return found


@contextmanager
def _bounded(connection: HTTPConnection) -> Iterator[None]:
    """Open *connection*, and end it after `ANSWER_TIMEOUT_S`, however slowly its bytes arrive.

    Raises:
        TimeoutError: it was ended.
    """
    connection.connect()
    held, late = connection.sock, threading.Event()

    def end() -> None:
        late.set()
        with suppress(OSError):
            held.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(ANSWER_TIMEOUT_S, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    except (OSError, HTTPException, ValueError) as error:
        if late.is_set():
            raise TimeoutError(f"the answer is not complete after {ANSWER_TIMEOUT_S:g} s") from error
        raise
    finally:
        timer.cancel()
    if late.is_set():
        raise TimeoutError(f"the answer is not complete after {ANSWER_TIMEOUT_S:g} s")


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


def _opened(addresses: Sequence[str], port: int) -> socket.socket:
    """Return a connection to the first of *addresses* that answers; each gets an equal part of the time that is left.

    Raises:
        OSError: none answered in `CONNECT_TIMEOUT_S`; it is the error of the last one.
    """
    until = time.monotonic() + CONNECT_TIMEOUT_S
    for index, address in enumerate(addresses[:-1]):
        with suppress(OSError):
            return socket.create_connection((address, port), max(_LEAST_S, until - time.monotonic()) / (len(addresses) - index))
    return socket.create_connection((addresses[-1], port), max(_LEAST_S, until - time.monotonic()))


class _Connection(HTTPConnection):
    """A connection to one of *addresses* for *host*."""

    def __init__(self, host: str, port: int, addresses: Sequence[str]) -> None:
        super().__init__(host, port, timeout=CONNECT_TIMEOUT_S)
        self.addresses = addresses

    def connect(self) -> None:
        """Connect to a checked address."""
        self.sock = _opened(self.addresses, self.port)
        self.sock.settimeout(ANSWER_TIMEOUT_S)


class _SecureConnection(HTTPSConnection):
    """A connection over TLS to one of *addresses*, with the certificate of *host*."""

    def __init__(self, host: str, port: int, addresses: Sequence[str], tls: ssl.SSLContext) -> None:
        super().__init__(host, port, timeout=CONNECT_TIMEOUT_S, context=tls)
        self.addresses, self.tls = addresses, tls

    def connect(self) -> None:
        """Connect to a checked address, and check the certificate."""
        plain = _opened(self.addresses, self.port)
        plain.settimeout(CONNECT_TIMEOUT_S)
        try:
            self.sock = self.tls.wrap_socket(plain, server_hostname=self.host)
        except BaseException:
            plain.close()
            raise
        self.sock.settimeout(ANSWER_TIMEOUT_S)
