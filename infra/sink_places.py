"""The places of sinks in the settings of a stage: ARNs, or the addresses of webhooks. The library reads them again in the worker
(`sedano.model.sinks.places`); a test compares the two.
"""

import ipaddress
import re
from typing import Any
from urllib.parse import urlsplit

#: What may be written, for errors.
EXPECTED = (
    "the ARN of a table, a bucket (with a prefix: arn:aws:s3:::bucket/prefix/), a delivery stream, an event bus, a queue or a topic, or "
    "the address of a webhook, https://…"
)
#: The kind of a webhook; the other kinds are the services in ARNs.
WEBHOOK, BUCKET = "https", "s3"
#: How long a place may be.
LONGEST = 2_048

_PLACE = r":[a-z0-9-]+:\d{12}:"
_RESOURCES = {
    "dynamodb": _PLACE + r"table/[A-Za-z0-9_.-]{3,255}",
    BUCKET: r":::[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9!_.()/=-]{0,700})?",
    "firehose": _PLACE + r"deliverystream/[A-Za-z0-9_.-]{1,64}",
    "events": _PLACE + r"event-bus/[A-Za-z0-9/_.-]{1,256}",
    "sqs": _PLACE + r"[A-Za-z0-9_-]{1,80}(\.fifo)?",
    "sns": _PLACE + r"[A-Za-z0-9_-]{1,256}(\.fifo)?",
}
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")
_STRANGE = re.compile(r"[^!-~]|[<>\"\\^`{|}]")


def kind_of(text: Any) -> str | None:
    """The service of the sink at the place *text*, or `WEBHOOK`; None for any other text."""
    if not isinstance(text, str) or len(text) > LONGEST:
        return None
    for service, resource in _RESOURCES.items():
        if re.fullmatch(rf"arn:aws[a-z-]*:{service}{resource}", text):
            return service
    return WEBHOOK if _is_webhook(text) else None


def region_of(text: str) -> str:
    """The Region in the place *text*; empty for a bucket and a webhook."""
    return text.split(":")[3] if text.startswith("arn:") else ""


def _is_webhook(text: str) -> bool:
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return False
    if _STRANGE.search(text) or parts.username or parts.password or parts.fragment:
        return False
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return parts.scheme == WEBHOOK and _HOST.fullmatch(host) is not None
    return parts.scheme == WEBHOOK or (parts.scheme == "http" and address.is_loopback)
