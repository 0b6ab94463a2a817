"""Webhooks: the signature schemes of senders, how they check an address, and the request.

    from sedano.webhooks import WebhookRequest, hmac_sha256

`Sedano.webhook` (`sedano.api.sources`) describes how to declare a webhook and what its function may return.
"""

from sedano.model.sources.challenges import Challenge, echo, hub, response_check
from sedano.model.sources.signature_schemes import (
    Scheme,
    hmac_sha256,
    secret_token,
    slack,
    standard_webhooks,
    stripe,
    unsigned,
)
from sedano.model.sources.webhooks import WebhookRequest

__all__ = [
    "Challenge", "Scheme", "WebhookRequest", "echo", "hmac_sha256", "hub", "response_check", "secret_token", "slack", "standard_webhooks",
    "stripe", "unsigned",
]  # fmt: skip
