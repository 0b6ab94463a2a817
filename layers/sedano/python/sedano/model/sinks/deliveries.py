"""Deliveries to webhooks: the signed headers. Pure."""

from __future__ import annotations

from collections.abc import Sequence

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
