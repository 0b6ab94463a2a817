"""The URLs that users give, and the addresses to which their hosts may lead. Pure."""

from __future__ import annotations

import ipaddress
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

from sedano.errors import ConfigurationError


class HttpUrl(NamedTuple):
    """The parts of a URL: whether it is over TLS (*secure*), its *host* and *port*, its *origin* (``https://api.example.com``), and of a
    request the *host_header* and the *target*, the path with its query."""

    secure: bool
    host: str
    port: int
    origin: str
    host_header: str
    target: str


def http_url(text: str) -> HttpUrl:
    """Return the parts of *text*, a URL that was checked."""
    parts = urlsplit(text)
    secure = parts.scheme == "https"
    return HttpUrl(
        secure=secure, host=parts.hostname or "", port=parts.port or (443 if secure else 80), origin=f"{parts.scheme}://{parts.netloc}",
        host_header=parts.netloc, target=(parts.path or "/") + (f"?{parts.query}" if parts.query else ""),
    )  # fmt: skip


def unfit(parts: SplitResult) -> str:
    """Return why no request can go to the host and the port of *parts*, a URL; empty if one can.

    Raises:
        ValueError: its port is not a number.
    """
    host = parts.hostname or ""
    if "%" in host:
        return "an address has no zone (%)"
    if parts.port == 0:
        return "no host answers at port 0"
    labels = host.removesuffix(".").split(".")
    if literal_address(host) is None and (len(host) > _LONGEST_HOST or not all(0 < len(label) <= _LONGEST_LABEL for label in labels)):
        return f"the parts of a host's name, between dots, have 1 to {_LONGEST_LABEL} characters, and the name at most {_LONGEST_HOST}"
    return ""


def is_function_url(text: str) -> bool:
    """Return whether *text* is the URL of a function, over TLS, or of a local endpoint, http://127.0.0.1:PORT; else it names a function.

    Raises:
        ConfigurationError: it is another URL.
    """
    if "://" not in text:
        return False
    try:
        parts = urlsplit(text)
        why = unfit(parts) or ("" if parts.hostname and "@" not in parts.netloc else "it has no host, or a user")
    except ValueError as wrong:
        parts, why = urlsplit(""), str(wrong)
    if why or not (parts.scheme == "https" or (parts.scheme, parts.hostname) == ("http", "127.0.0.1")):
        words = "is not the URL of a function; write https://HOST/, http://127.0.0.1:PORT/ of a local endpoint, or the function's name"
        raise ConfigurationError(f"SEDANO_WORKER: {text!r:.200} {words}" + (f": {why}" if why else ""))
    return True


def literal_address(host: str) -> str | None:
    """Return *host* if it is an IP address, without the brackets of IPv6; None for a name."""
    try:
        return str(ipaddress.ip_address(host.strip("[]")))
    except ValueError:
        return None


def may_connect(address: str, named: bool) -> bool:
    """Return whether a request may go to *address*, an IP address.

    *named*: a name was resolved to it, and the owner of that name chose it, so it must be public. An address that the URL itself contains
    was chosen by the person who deployed it: it may be private, or this machine, but never link-local, where a host answers with its
    credentials (169.254.169.254), nor an address of many hosts.
    """
    try:
        found: Any = ipaddress.ip_address(address)
    except ValueError:
        return False
    if getattr(found, "scope_id", None) is not None:
        return False
    inner = _inside(found)
    if inner is not None:
        return may_connect(str(inner), named) and not (named and found in _UNROUTED)
    if found in _LOCAL_TRANSLATION or found.is_link_local or found.is_multicast or found.is_unspecified or found in _METADATA:
        return False
    return bool(found.is_global and (found.version == 4 or found in _UNICAST)) if named else True


def _inside(found: Any) -> Any:
    """Return the IPv4 address to which the IPv6 address *found* may lead; None: it contains none."""
    if found.version == 4:
        return None
    embedded, networks = ipaddress.IPv4Address(int(found) & 0xFFFF_FFFF), (_TRANSLATED, _COMPATIBLE, _UNROUTED)
    return found.ipv4_mapped or found.sixtofour or (embedded if any(found in one for one in networks) else None)


_LOCAL_TRANSLATION = ipaddress.ip_network("64:ff9b:1::/48")
"""The addresses that a network translates to IPv4 addresses by rules of its own (RFC 8215)."""
_TRANSLATED, _COMPATIBLE = ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("::/96")
"""The addresses whose last four bytes are an IPv4 address: translated (RFC 6052), and compatible (RFC 4291). `::1` and `::` are judged as
0.0.0.1, which is not public, and 0.0.0.0, which is never allowed."""
_UNROUTED, _UNICAST = ipaddress.ip_network("::ffff:0:0:0/96"), ipaddress.ip_network("2000::/3")
"""The addresses of IPv4 hosts inside one network (RFC 2765), which no name may lead to; and those of the public internet (RFC 4291)."""
_LONGEST_HOST, _LONGEST_LABEL = 253, 63
_METADATA = frozenset(map(ipaddress.ip_address, ("fd00:ec2::254", "fd00:ec2::23", "169.254.170.2", "169.254.170.23")))
"""The addresses at which AWS gives out credentials."""
