"""Deliveries to webhooks: the signed headers, and the addresses that they may go to. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import Any

from sedano.model.sinks.content import Content
from sedano.model.sources.signature_schemes import standard_signature


def webhook_headers(content: Content, body: bytes, secrets: Sequence[str], now: float) -> dict[str, str]:
    """Return the headers of a delivery to a webhook: the Standard Webhooks 1.0 signatures of *body* by each of *secrets* at *now* (epoch
    s), and the document's id as `Idempotency-Key`.

    Raises:
        ConfigurationError: a secret is not `whsec_` and base64.
    """
    given, at = str(content["id"]), str(int(now))
    return {
        "Content-Type": "application/json",
        "Idempotency-Key": given,
        "webhook-id": given,
        "webhook-timestamp": at,
        "webhook-signature": " ".join(f"v1,{standard_signature(given, at, body, secret).decode()}" for secret in secrets),
    }


def may_connect(address: str, named: bool) -> bool:
    """Return whether a delivery may go to *address*, an IP address.

    *named*: a name was resolved to it, and the owner of that name chose it, so it must be public. An address that the place of the sink
    contains was chosen by the person who deployed it: it may be private, or this machine, but never link-local, where a host answers with
    its credentials (169.254.169.254), nor an address of many hosts.
    """
    try:
        found: Any = ipaddress.ip_address(address)
    except ValueError:
        return False
    inner = _inside(found)
    if found in _LOCAL_TRANSLATION or (inner is not None and not may_connect(str(inner), named)):
        return False
    if inner is not None and found.ipv4_mapped:
        return True
    if found.is_link_local or found.is_multicast or found.is_unspecified or found in _METADATA:
        return False
    return bool(found.is_global) if named else True


def _inside(found: Any) -> Any:
    """Return the IPv4 address to which the IPv6 address *found* may lead; None: it contains none."""
    if found.version == 4:
        return None
    if found in _COMPATIBLE and int(found) <= 1:
        return None
    embedded = ipaddress.IPv4Address(int(found) & 0xFFFF_FFFF)
    return found.ipv4_mapped or found.sixtofour or (embedded if found in _TRANSLATED or found in _COMPATIBLE else None)


_LOCAL_TRANSLATION = ipaddress.ip_network("64:ff9b:1::/48")
"""The addresses that a network translates to IPv4 addresses by rules of its own (RFC 8215)."""
_TRANSLATED, _COMPATIBLE = ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("::/96")
"""The addresses whose last four bytes are an IPv4 address: translated (RFC 6052), and compatible (RFC 4291)."""
_METADATA = frozenset(map(ipaddress.ip_address, ("fd00:ec2::254", "fd00:ec2::23", "169.254.170.2", "169.254.170.23")))
"""The addresses at which AWS gives out credentials."""
