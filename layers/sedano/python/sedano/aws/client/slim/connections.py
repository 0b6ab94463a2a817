"""The kept connections to one endpoint.

A connection is used by one call at a time, and kept only after a whole answer that is not a failure of the service. One that its server has
closed, or on which bytes arrived that were not requested, is dropped before its next use. A deadline covers a whole attempt, from the first
byte sent to the last one received, so an endpoint that answers a byte a second cannot extend it. Each failure is the exception that
botocore raises for it, because botocore's retry handler and the callers decide by these.
"""

from __future__ import annotations

import os
import socket
import ssl
import time
import weakref
from collections import deque
from socket import create_connection
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from botocore.exceptions import ConnectionClosedError, ConnectTimeoutError, EndpointConnectionError, ReadTimeoutError, SSLError
from botocore.httpsession import create_urllib3_context, get_cert_path
from urllib3.util.wait import wait_for_read

from sedano.aws.client.slim.http_answers import BrokenAnswer, RawAnswer, read_answer

RECEIVED = 1 << 16
"""The most bytes that are received at once."""


class EndpointAddress(NamedTuple):
    """An endpoint: its *url* for errors, and where it is."""

    url: str
    host: str
    port: int
    is_secure: bool

    @classmethod
    def of(cls, url: str) -> EndpointAddress:
        """Return the address of *url*."""
        parts = urlsplit(url)
        is_secure = parts.scheme == "https"
        return cls(url, parts.hostname or "", parts.port or (443 if is_secure else 80), is_secure)


class Connections:
    """Connections to one *address*. Thread-safe, and safe to use after a fork: a child process shares no connection with its parent.

    Args:
        address: the endpoint.
        connect_s: how many seconds a new connection may take, its TLS handshake not included, which may take as long.
        most: the most connections that are kept while no call uses them.
        trusted: the file of the certificates that are trusted; True: that of botocore.
    """

    def __init__(self, address: EndpointAddress, connect_s: float, most: int, trusted: str | bool = True) -> None:
        """Connect to nothing yet."""
        self._address, self._connect_s, self._most, self._trusted = address, connect_s, most, trusted
        self._context: ssl.SSLContext | None = None
        self._idle: deque[socket.socket] = deque()
        self._pid = os.getpid()
        self._end = weakref.finalize(self, _close_all, self._idle)

    def exchange(self, request: bytes, seconds: float) -> RawAnswer:
        """Send *request* and return its whole answer, within *seconds*.

        Raises:
            EndpointConnectionError, ConnectTimeoutError, SSLError: nothing was sent.
            ReadTimeoutError, ConnectionClosedError: the request may or may not have been executed.
        """
        kept = self._kept()
        connection = kept or self._connected()
        try:
            answer = self._answer(connection, request, time.monotonic() + seconds)
        except BaseException:
            connection.close()
            if kept is not None:
                self.close()  # the others were kept for as long: another attempt must not find the next one that is gone
            raise
        if answer.reusable and answer.status_code < 500 and len(self._idle) < self._most:
            self._idle.append(connection)
        else:
            connection.close()
        return answer

    def close(self) -> None:
        """Close the connections that no call uses."""
        _close_all(self._idle)

    def _answer(self, connection: socket.socket, request: bytes, until: float) -> RawAnswer:
        def receive() -> bytes:
            left = until - time.monotonic()
            if left <= 0:
                raise TimeoutError("the answer did not end in time")
            connection.settimeout(left)
            return connection.recv(RECEIVED)

        try:
            connection.settimeout(max(until - time.monotonic(), 0.001))
            connection.sendall(request)
            return read_answer(receive)
        except TimeoutError as error:
            raise ReadTimeoutError(endpoint_url=self._address.url, error=error) from error
        except ssl.SSLError as error:
            raise SSLError(endpoint_url=self._address.url, error=error) from error
        except (BrokenAnswer, OSError) as error:
            raise ConnectionClosedError(endpoint_url=self._address.url, request=None, error=error) from error

    def _kept(self) -> socket.socket | None:
        """Return a kept connection on which nothing has happened since its last answer."""
        if self._pid != os.getpid():
            self._forget_parent()
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return None
            if not (isinstance(connection, ssl.SSLSocket) and connection.pending()) and not wait_for_read(connection, timeout=0.0):
                return connection
            connection.close()

    def _forget_parent(self) -> None:
        """Close this process's copies of its parent's connections; nothing is sent on them."""
        inherited, self._idle, self._pid = self._idle, deque(), os.getpid()
        self._end.detach()
        self._end = weakref.finalize(self, _close_all, self._idle)
        _close_all(inherited)

    def _connected(self) -> socket.socket:
        address = self._address
        try:
            connection = create_connection((address.host, address.port), timeout=self._connect_s)
        except TimeoutError as error:
            raise ConnectTimeoutError(endpoint_url=address.url, error=error) from error
        except OSError as error:
            raise EndpointConnectionError(endpoint_url=address.url, error=error) from error
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self._secured(connection) if address.is_secure else connection

    def _secured(self, connection: socket.socket) -> socket.socket:
        context = self._context = self._context or self._trusting()
        try:
            return context.wrap_socket(connection, server_hostname=self._address.host)
        except BaseException as error:
            connection.close()
            if isinstance(error, TimeoutError):
                raise ConnectTimeoutError(endpoint_url=self._address.url, error=error) from error
            if isinstance(error, ssl.SSLError):
                raise SSLError(endpoint_url=self._address.url, error=error) from error
            if isinstance(error, OSError):
                raise ConnectionClosedError(endpoint_url=self._address.url, request=None, error=error) from error
            raise

    def _trusting(self) -> ssl.SSLContext:
        """Return botocore's own context, which here checks the name of the server as well: urllib3 does that itself."""
        context: ssl.SSLContext = create_urllib3_context()
        context.check_hostname, context.hostname_checks_common_name = True, False
        context.load_verify_locations(cafile=str(_certificates(self._trusted)))
        context.set_alpn_protocols(["http/1.1"])
        return context


def _certificates(trusted: Any) -> Any:
    return get_cert_path(trusted)  # the stubs declare a truth value alone


def _close_all(connections: deque[socket.socket]) -> None:
    while connections:
        try:
            connections.pop().close()
        except (IndexError, OSError):  # another thread took it; the peer is gone
            continue
