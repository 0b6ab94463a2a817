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
    found = getattr(found, "ipv4_mapped", None) or found
    if found.is_link_local or found.is_multicast or found.is_unspecified or found in _METADATA:
        return False
    return bool(found.is_global) if named else True


_METADATA = frozenset(map(ipaddress.ip_address, ("fd00:ec2::254", "fd00:ec2::23", "169.254.170.2", "169.254.170.23")))
"""The addresses at which AWS gives out credentials."""
