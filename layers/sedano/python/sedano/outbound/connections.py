"""Connections of HTTP to checked addresses, with a deadline for each whole answer.

Until a connection is made, which includes its TLS handshake, nothing is sent, and the next address is tried. The certificate is that of the
name. No proxy of the environment is used.
"""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from http.client import HTTPS_PORT, HTTPConnection, HTTPException

from sedano.model.addresses import HttpUrl
from sedano.outbound.addresses import first_answer


def connection_to(
    url: HttpUrl, addresses: Sequence[str], connect_s: float, read_s: float, tls: ssl.SSLContext | None,
) -> CheckedConnection:  # fmt: skip
    """Return a connection, not yet open, to the host of *url* at one of *addresses*.

    Args:
        url: the URL of the requests.
        addresses: the checked addresses of its host.
        connect_s: the seconds to connect.
        read_s: the seconds of silence after which the connection ends.
        tls: the context of TLS; None: the connection is not encrypted.
    """
    return CheckedConnection(url, addresses, (connect_s, read_s), tls)


class CheckedConnection(HTTPConnection):
    """A connection to one of *addresses* for the host of *url*, with the certificate of that host if it has *tls*; see `connection_to`."""

    def __init__(self, url: HttpUrl, addresses: Sequence[str], timeouts: tuple[float, float], tls: ssl.SSLContext | None) -> None:
        """Connect to none yet."""
        if tls is not None:
            self.default_port = HTTPS_PORT  # which the header Host does not name
        super().__init__(url.host, url.port)
        self.addresses, self.timeouts, self.tls = addresses, timeouts, tls
        self.address = ""

    def connect(self) -> None:
        """Connect to a checked address, and check the certificate."""
        connect_s, read_s = self.timeouts
        self.sock = first_answer(self.addresses, self._opened, connect_s)
        self.sock.settimeout(read_s)

    def _opened(self, address: str, seconds: float) -> socket.socket:
        """Return a connection to *address*; the handshake has as many *seconds* as the connection before it."""
        plain = socket.create_connection((address, self.port), seconds)
        try:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            found = plain if self.tls is None else self.tls.wrap_socket(plain, server_hostname=self.host)
        except BaseException:
            plain.close()
            raise
        self.address = address
        return found


@contextmanager
def bounded(connection: HTTPConnection, seconds: float) -> Iterator[None]:
    """Open *connection* if it is not open, and end it after *seconds*, however slowly its bytes arrive.

    Raises:
        TimeoutError: it was ended.
    """
    if connection.sock is None:
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
