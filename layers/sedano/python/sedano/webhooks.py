"""Webhooks: the signature schemes of senders, and the request.

    from sedano.webhooks import WebhookRequest, hmac_sha256

`Sedano.webhook` (`sedano.api.sources`) describes how to declare a webhook and what its function may return.
"""

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

__all__ = ["Scheme", "WebhookRequest", "hmac_sha256", "secret_token", "slack", "standard_webhooks", "stripe", "unsigned"]
