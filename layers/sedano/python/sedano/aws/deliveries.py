"""Converts the records of an event source mapping of Lambda to deliveries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sedano.model.messages.message import NOTHING
from sedano.model.queues import is_fifo
from sedano.ports import Delivery


def delivery(record: Mapping[str, Any], keys: Mapping[str, str], default: str) -> Delivery:
    """Return *record* as a delivery. *keys* maps the last part of a queue's ARN to its key; *default* is the key of any other queue."""
    attributes = record.get("attributes", {})
    queue = keys.get(str(record.get("eventSourceARN", "")).rpartition(":")[2], default)
    return Delivery(
        queue=queue, message_id=record["messageId"], receipt=record.get("receiptHandle", ""), body=record["body"],
        receives=int(attributes.get("ApproximateReceiveCount", 1)), sent=int(attributes.get("SentTimestamp", 0)) / 1000,
        attributes=_texts(record["messageAttributes"]) if record.get("messageAttributes") else NOTHING,
        serial_key=attributes.get("MessageGroupId") if is_fifo(queue) else None,
    )  # fmt: skip


def _texts(attributes: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the string attributes of a message, for example the slot of a limit."""
    return {name: value["stringValue"] for name, value in attributes.items() if "stringValue" in value}
