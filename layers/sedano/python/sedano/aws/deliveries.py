"""Messages as Lambda hands them over: the records of an event source mapping, as deliveries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sedano.model.messages.message import NOTHING
from sedano.model.queues import is_fifo
from sedano.ports import Delivery


def delivery(record: Mapping[str, Any], keys: Mapping[str, str], default: str) -> Delivery:
    """Return a *record* as a delivery: *keys* of queues by the last part of their ARN, *default* for any other."""
    attributes = record.get("attributes", {})
    queue = keys.get(str(record.get("eventSourceARN", "")).rpartition(":")[2], default)
    return Delivery(
        queue=queue, message_id=record["messageId"], receipt=record.get("receiptHandle", ""), body=record["body"],
        receives=int(attributes.get("ApproximateReceiveCount", 1)), sent=int(attributes.get("SentTimestamp", 0)) / 1000,
        attributes=_texts(record["messageAttributes"]) if record.get("messageAttributes") else NOTHING,
        serial_key=attributes.get("MessageGroupId") if is_fifo(queue) else None,
    )  # fmt: skip


def _texts(attributes: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the attributes of a message that are texts: a slot of a limit, say."""
    return {name: value["stringValue"] for name, value in attributes.items() if "stringValue" in value}
