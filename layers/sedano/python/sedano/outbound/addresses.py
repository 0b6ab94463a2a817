"""The addresses of a host in a user's URL: resolved once, checked, and connected to as they were found.

A name is resolved once for each request, and every address must be allowed (`sedano.model.addresses.may_connect`), so a later answer of the
name server cannot lead to another host. If an address does not answer, the next one is tried.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from sedano.errors import ConfigurationError, Unavailable
from sedano.model.addresses import literal_address, may_connect

Resolve = Callable[[str, int], Sequence[str]]
T = TypeVar("T")
MOST_ADDRESSES, LEAST_S = 4, 1.0
"""The most addresses of a host that one request tries, and the least seconds for each."""


def resolved(host: str, port: int) -> list[str]:
    """Return the addresses of *host*.

    Raises:
        OSError: it has none, or the name server does not answer.
    """
    return list(dict.fromkeys(str(found[4][0]) for found in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)))


class CheckedHosts:
    """The hosts of the URLs of one feature.

    Args:
        feature: the feature, for errors: ``poll``.
        advice: which addresses a URL may have, and what to write instead, for errors.
        resolve: returns the addresses of a host.
        allows: whether a request may go to an address (`may_connect`).
        own: names that may lead to this machine.
    """

    def __init__(
        self, feature: str, advice: str, resolve: Resolve = resolved, allows: Callable[[str, bool], bool] = may_connect,
        own: frozenset[str] = frozenset(),
    ) -> None:  # fmt: skip
        """Check the hosts of *feature*; nothing is resolved yet."""
        self._feature, self._advice, self._resolve, self._allows, self._own = feature, advice, resolve, allows, own

    def addresses(self, host: str, port: int) -> Sequence[str]:
        """Return the addresses of *host* now, which are all allowed, in the order of the name server.

        Raises:
            Unavailable: the host has no address now.
            ConfigurationError: requests may not go to all of its addresses.
        """
        literal = literal_address(host)
        try:
            found = [literal] if literal is not None else self._resolve(host, port)
        except OSError as error:
            raise Unavailable(f"{self._feature}: the host {host} has no address now: {error}") from error
        except UnicodeError as error:
            raise ConfigurationError(f"{self._feature}: {host!r:.80} is not the name of a host: {error}") from error
        named = literal is None and host not in self._own
        refused = next((one for one in found if not self._allows(one, named)), None)
        if refused is not None or not found:
            raise ConfigurationError(
                f"{self._feature}: the host {host} has the address {refused or 'none'}, which is not public: {self._advice}"
            )
        return found


def first_answer(
    addresses: Sequence[str], connect: Callable[[str, float], T], timeout_s: float, not_connected: tuple[type[Exception], ...] = (OSError,),
    now: Callable[[], float] = time.monotonic,
) -> T:  # fmt: skip
    """Return the result of `connect(address, seconds)` with the first of *addresses* that answers; at most `MOST_ADDRESSES` are tried.

    Args:
        addresses: checked addresses; at least one.
        connect: connects to an address in at most these seconds: an equal part of the time that is left, and at least `LEAST_S`, because a
            receiver on another continent needs that long.
        timeout_s: the seconds for all addresses together, if each has more than the least.
        not_connected: the errors of *connect* after which the next address is tried.
        now: returns the time (s) on a clock that is never set back.

    Raises:
        Exception: one of *not_connected*: no address answered; it is the error of the last one.
    """
    until, tried = now() + timeout_s, _tried(addresses)
    for index, address in enumerate(tried[:-1]):
        with suppress(*not_connected):
            return connect(address, max(LEAST_S, (until - now()) / (len(tried) - index)))
    return connect(tried[-1], max(LEAST_S, until - now()))


def _tried(addresses: Sequence[str]) -> Sequence[str]:
    """Return the first addresses; if all are of one version of IP, the last place is for the first address of the other version."""
    found = addresses[:MOST_ADDRESSES]
    other = next((one for one in addresses[MOST_ADDRESSES:] if all((":" in one) != (":" in tried) for tried in found)), None)
    return found if other is None else [*found[:-1], other]
