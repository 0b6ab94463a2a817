"""Finds what SQS refuses of a call: messages, batches, holds, names of queues."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from sedano.testing.strict_aws.limits import LIMITS, Trip, bytes_of, over

_VALUE = "InvalidParameterValue"
_CODE = "AWS.SimpleQueueService."
_LEGAL = re.compile("[\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]*")
_GROUP = re.compile(r"""[A-Za-z0-9!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~]{1,128}""")
_ATTRIBUTE = re.compile(r"(?!(?i:aws|amazon)\.)(?!\.)(?!.*\.\.)[A-Za-z0-9_.-]{1,256}(?<!\.)")
_ENTRY = re.compile(r"[A-Za-z0-9_-]{1,80}")
_QUEUE = re.compile(r"[A-Za-z0-9_-]{1,80}|(?=.{6,80}$)[A-Za-z0-9_-]+\.fifo")
_TYPES = ("String", "Number", "Binary")


def message_size(entry: Mapping[str, Any]) -> int:
    """Return the bytes that SQS counts for a message: its body, and each attribute's name, type and value."""
    attributes = entry.get("MessageAttributes", {})
    return bytes_of(entry.get("MessageBody", "")) + sum(
        bytes_of(name) + bytes_of(value.get("DataType", "")) + _inner_size(value) for name, value in attributes.items()
    )


def _inner_size(value: Mapping[str, Any]) -> int:
    inner = value.get("StringValue", value.get("BinaryValue", b""))
    return bytes_of(inner) if isinstance(inner, str) else len(inner)


def problems(operation: str, call: Mapping[str, Any]) -> Iterator[Trip]:
    """Yield what SQS refuses of a call."""
    fifo = str(call.get("QueueUrl", "")).endswith(".fifo")
    if operation.endswith("Batch"):
        yield from _batch_problems(call.get("Entries", ()))
    if operation.startswith("SendMessage"):
        entries = call.get("Entries", (call,))
        for entry in entries:
            yield from _message_problems(entry, fifo)
        yield from over("sqs.total", "bytes of the batch", sum(map(message_size, entries)), f"{_CODE}BatchRequestTooLong")
    elif operation == "ReceiveMessage":
        yield from _receive_problems(call)
    elif operation.startswith("ChangeMessageVisibility"):
        yield from _hold_problems(call.get("Entries", (call,)))
    elif operation == "CreateQueue" and not _QUEUE.fullmatch(call.get("QueueName", "")):
        yield Trip("sqs.name", f"can only include alphanumeric characters, hyphens, or underscores: {call.get('QueueName')!r}", _VALUE)


def _batch_problems(entries: Any) -> Iterator[Trip]:
    if not entries:
        yield Trip("sqs.entries", "there should be at least one entry in the request", f"{_CODE}EmptyBatchRequest")
    yield from over("sqs.entries", "entries of a batch", len(entries), f"{_CODE}TooManyEntriesInBatchRequest")
    if len({entry["Id"] for entry in entries}) < len(entries):
        yield Trip("sqs.entry_id", "two or more batch entries in the request have the same Id", f"{_CODE}BatchEntryIdsNotDistinct")
    for entry in entries:
        if not _ENTRY.fullmatch(entry["Id"]):
            yield Trip("sqs.entry_id", f"the Id of a batch entry: {entry['Id'][:40]!r}", f"{_CODE}InvalidBatchEntryId")


def _message_problems(entry: Mapping[str, Any], fifo: bool) -> Iterator[Trip]:
    body = entry.get("MessageBody", "")
    if not body:
        yield Trip("sqs.empty", "the request must contain the parameter MessageBody", "MissingParameter")
    if not _LEGAL.fullmatch(body):
        yield Trip("sqs.characters", "invalid characters in the body", "InvalidMessageContents")
    yield from over("sqs.message", "bytes of a message", message_size(entry), _VALUE)
    delay = entry.get("DelaySeconds", 0)
    if not 0 <= delay <= LIMITS["sqs.delay"]:
        yield Trip("sqs.delay", f"DelaySeconds: {delay} is not within 0 to {LIMITS['sqs.delay']}", _VALUE)
    if fifo and "DelaySeconds" in entry and delay:
        yield Trip("sqs.fifo_delay", f"DelaySeconds: {delay} of a message in a FIFO queue", _VALUE)
    yield from _attribute_problems(entry.get("MessageAttributes", {}))
    yield from _order_problems(entry, fifo)


def _attribute_problems(attributes: Mapping[str, Mapping[str, Any]]) -> Iterator[Trip]:
    yield from over("sqs.attributes", "message attributes", len(attributes), _VALUE)
    for name, value in attributes.items():
        if not _ATTRIBUTE.fullmatch(name):
            yield Trip("sqs.attribute_name", f"the name of a message attribute: {name[:40]!r}", _VALUE)
        kind = value.get("DataType", "")
        if kind.partition(".")[0] not in _TYPES or len(kind) > 256:
            yield Trip("sqs.attribute_type", f"the type of the message attribute {name}: {kind[:40]!r}", _VALUE)
        text = value.get("StringValue", "")
        if not _inner_size(value) or not _LEGAL.fullmatch(text):
            yield Trip("sqs.attribute_value", f"the message attribute {name} is empty, or has invalid characters", _VALUE)


def _order_problems(entry: Mapping[str, Any], fifo: bool) -> Iterator[Trip]:
    group, once = entry.get("MessageGroupId"), entry.get("MessageDeduplicationId")
    if fifo and group is None:
        yield Trip("sqs.group", "the request must contain the parameter MessageGroupId", "MissingParameter")
    if group is not None and not _GROUP.fullmatch(group):
        yield Trip("sqs.group", f"MessageGroupId: {group[:40]!r} ({len(group)} characters)", _VALUE)
    if once is not None and not (fifo and _GROUP.fullmatch(once)):
        yield Trip("sqs.dedup", f"MessageDeduplicationId: {once[:40]!r} ({len(once)} characters, FIFO: {fifo})", _VALUE)


def _receive_problems(call: Mapping[str, Any]) -> Iterator[Trip]:
    most, wait = call.get("MaxNumberOfMessages", 1), call.get("WaitTimeSeconds", 0)
    if not 1 <= most <= LIMITS["sqs.most"]:
        yield Trip("sqs.most", f"MaxNumberOfMessages: {most} is not within 1 to {LIMITS['sqs.most']}", _VALUE)
    if not 0 <= wait <= LIMITS["sqs.wait"]:
        yield Trip("sqs.wait", f"WaitTimeSeconds: {wait} is not within 0 to {LIMITS['sqs.wait']}", _VALUE)
    yield from _hold_problems([call])


def _hold_problems(entries: Any) -> Iterator[Trip]:
    for entry in entries:
        hidden = entry.get("VisibilityTimeout", 0)
        if not 0 <= hidden <= LIMITS["sqs.visibility"]:
            yield Trip("sqs.visibility", f"VisibilityTimeout: {hidden} is not within 0 to {LIMITS['sqs.visibility']}", _VALUE)


class Receipts:
    """When each message was received: SQS hides one for at most 12 hours in all, counted from then."""

    def __init__(self) -> None:
        """Know of none."""
        self._received: dict[str, float] = {}

    def note(self, answer: Mapping[str, Any], now: float) -> None:
        """Note what ReceiveMessage answered at *now*."""
        self._received.update((message["ReceiptHandle"], now) for message in answer.get("Messages", ()) if "ReceiptHandle" in message)

    def problems(self, operation: str, call: Mapping[str, Any], now: float) -> Iterator[Trip]:
        """Yield the holds that end more than 12 hours after the receipt."""
        if not operation.startswith("ChangeMessageVisibility"):
            return
        for entry in call.get("Entries", (call,)):
            since = self._received.get(entry.get("ReceiptHandle", ""), now)
            total = now - since + entry.get("VisibilityTimeout", 0)
            if total > LIMITS["sqs.visibility"]:
                yield Trip("sqs.visibility_total", f"total VisibilityTimeout beyond {LIMITS['sqs.visibility']}: {total:.3f} s", _VALUE)
