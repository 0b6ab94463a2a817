"""The HTTP client of polls: one GET request for a page, with a deadline for the whole answer.

A request goes only to checked addresses (`sedano.outbound.addresses`). Redirects are not followed, and no proxy of the environment is used.
The certificate is that of the name.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Mapping
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any

from sedano.errors import Unavailable
from sedano.model.addresses import HttpUrl, http_url, may_connect
from sedano.model.sources.http_polls import MOST_BODY_BYTES, THIS_MACHINE, HttpAnswer, HttpPlan, polled_of, request_of
from sedano.model.sources.polls import Polled
from sedano.outbound.addresses import CheckedHosts, Resolve, resolved
from sedano.outbound.connections import bounded, connection_to

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
            with bounded(connection, self._answer_timeout_s):
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
        tls = (self._tls or ssl.create_default_context()) if parts.secure else None
        return connection_to(parts, addresses, CONNECT_TIMEOUT_S, ANSWER_TIMEOUT_S, tls)


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
