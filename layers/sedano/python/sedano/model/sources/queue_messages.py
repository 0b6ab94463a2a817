"""Messages of foreign queues: the form that Lambda delivers, and the form that tasks receive. Pure.

A stream may be read from a queue that another program, a topic, an event bus or a bucket fills. The *format* of its messages, which the
declaration names, decides what a task receives, and which field identifies a message that arrives twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, TypedDict, TypeVar
from urllib.parse import unquote_plus

from sedano.errors import MessageRefused
from sedano.model import refusals
from sedano.model.messages import timestamps
from sedano.model.messages.strict_json import load
from sedano.model.messages.timestamps import LAST_SECOND

T = TypeVar("T")
Format = Literal["message", "sns", "s3", "eventbridge"]
FORMATS: Final = ("message", "sns", "s3", "eventbridge")
MESSAGE, SNS, S3, EVENTBRIDGE = FORMATS
MAX_BYTES, MAX_DEPTH = 1_048_576, 48
"""The bounds of a body that is read as JSON: a queue takes no more bytes, and the rest of a command needs some depth."""
_TEST_EVENT = "s3:TestEvent"
"""The message that S3 sends when a notification is configured."""
_DELETED = "ObjectDeleted"
"""EventBridge's term for what the notifications of S3 call ObjectRemoved."""


class QueueMessage(TypedDict):
    """A message of another program.

    stream: the name of the stream in `@app.stream`. id: the id that the queue gave the message: the same when the queue delivers it again,
    and another when its sender sends it again. at: when it was sent (epoch s). body: its text. attributes: its message attributes of the
    types String and Number, as text.
    """

    stream: str
    id: str
    at: float
    body: str
    attributes: dict[str, str]


class TopicMessage(TypedDict):
    """A message of a topic (SNS), whose subscription does not deliver raw messages.

    stream, at: see `QueueMessage`. id: the id that the topic gave the message. topic: the topic's ARN. subject: its subject; empty if it
    has none. message: its text. attributes: its message attributes of the types String and Number, as text.
    """

    stream: str
    id: str
    at: float
    topic: str
    subject: str
    message: str
    attributes: dict[str, str]


class ObjectChange(TypedDict):
    """A change of an object in a bucket (S3), by a notification directly into the queue, through a topic, or through EventBridge.

    stream: see `QueueMessage`. id: from the bucket, the key, the version, the sequencer and the event. at: when it happened (epoch s).
    event: ``ObjectCreated``, ``ObjectRemoved`` or another family of S3's events. bucket, key: the place, decoded. size: bytes; None if it
    was removed. etag, version: empty if S3 gave none. sequencer: of two changes of one key, the later has the greater one: fill the shorter
    text with zeros on its right, and compare.
    """

    stream: str
    id: str
    at: float
    event: str
    bucket: str
    key: str
    size: int | None
    etag: str
    version: str
    sequencer: str


class BusEvent(TypedDict):
    """An event of an event bus (EventBridge).

    stream: see `QueueMessage`. id: the event's id. at: its time (epoch s). type: its detail type. source, account, region, resources,
    detail: as in the event.
    """

    stream: str
    id: str
    at: float
    type: str
    source: str
    account: str
    region: str
    resources: list[str]
    detail: dict[str, Any]


Message = QueueMessage | TopicMessage | ObjectChange | BusEvent
EXAMPLES: Mapping[str, Message] = {
    MESSAGE: QueueMessage(stream="orders", id="1", at=0.0, body="{}", attributes={}),
    SNS: TopicMessage(
        stream="orders", id="1", at=0.0, topic="arn:aws:sns:eu-central-1:123456789012:t", subject="", message="{}", attributes={},
    ),
    S3: ObjectChange(
        stream="uploads", id="1", at=0.0, event="ObjectCreated", bucket="b", key="k", size=1, etag="", version="", sequencer="0A",
    ),
    EVENTBRIDGE: BusEvent(
        stream="states", id="1", at=0.0, type="t", source="s", account="1", region="eu-central-1", resources=[], detail={},
    ),
}  # fmt: skip
"""A message of each format; the parameters of a task are checked with these at its declaration."""


def read_messages(stream: str, record: Mapping[str, Any], form: str, now: float) -> list[Message]:
    """Return the messages in *record*, a message of a queue as Lambda delivered it, by its format *form*; *now* replaces a missing time.

    A notification of S3 may contain several changes, and a test event contains none.

    Raises:
        MessageRefused: the record is not of this format.
    """
    outer = QueueMessage(
        stream=stream, id=_text(record, "messageId"), at=_sent(record, now), body=_body(record), attributes=_attributes(record)
    )
    if form == MESSAGE:
        return [outer]
    found = _object(load(outer["body"], MAX_BYTES, MAX_DEPTH), "body")
    if form == SNS:
        return [_topic_message(outer, found)]
    return [_bus_event(outer, found)] if form == EVENTBRIDGE else _object_changes(outer, found)


def _body(record: Mapping[str, Any]) -> str:
    found = record.get("body")
    if not isinstance(found, str):
        raise _wrong("body", "text", found)
    return found


def _sent(record: Mapping[str, Any], now: float) -> float:
    """Return when the message was sent (epoch s): SQS writes it in milliseconds, as a text, which until 9999 has at most 15 digits."""
    told = record.get("attributes")
    found = told.get("SentTimestamp") if isinstance(told, dict) else None
    if found is None:
        return now
    if not isinstance(found, str) or not (found.isascii() and found.isdecimal() and len(found) <= 15) or int(found) > LAST_SECOND * 1000:
        raise _wrong("attributes.SentTimestamp", "number of milliseconds", found)
    return int(found) / 1000


def _attributes(record: Mapping[str, Any]) -> dict[str, str]:
    found = record.get("messageAttributes") or {}
    return _texts(_object(found, "messageAttributes"), "stringValue", "messageAttributes")


def _texts(found: Mapping[str, Any], value: str, path: str) -> dict[str, str]:
    """Return the attributes that have a text, by name; *value* is the name of its field."""
    some = {name: _object(one, f"{path}.{name}") for name, one in found.items()}
    return {name: one[value] for name, one in some.items() if isinstance(one.get(value), str)}


def _topic_message(outer: QueueMessage, found: Mapping[str, Any]) -> TopicMessage:
    if found.get("Type") != "Notification":
        raise MessageRefused(refusals.STREAM, "body.Type", "is not Notification: a subscription without raw delivery sends such messages")
    attributes = _object(found.get("MessageAttributes") or {}, "body.MessageAttributes")
    return TopicMessage(
        stream=outer["stream"], id=_text(found, "MessageId", "body."), at=_time(found, "Timestamp", outer["at"], "body."),
        topic=_text(found, "TopicArn", "body."), subject=_optional(found, "Subject", "body."),
        message=_field(found, "Message", str, "body."),
        attributes=_texts({name: one for name, one in attributes.items() if _is_plain(one)}, "Value", "body.MessageAttributes"),
    )  # fmt: skip


def _is_plain(attribute: object) -> bool:
    """Return whether an *attribute* of a topic's message is a text: the value of a binary one is base64."""
    return not isinstance(attribute, dict) or attribute.get("Type") != "Binary"


def _bus_event(outer: QueueMessage, found: Mapping[str, Any]) -> BusEvent:
    resources = found.get("resources") or []
    if not isinstance(resources, list) or not all(isinstance(one, str) for one in resources):
        raise _wrong("body.resources", "list of texts", resources)
    return BusEvent(
        stream=outer["stream"], id=_text(found, "id", "body."), at=_time(found, "time", outer["at"], "body."),
        type=_text(found, "detail-type", "body."), source=_text(found, "source", "body."), account=_optional(found, "account", "body."),
        region=_optional(found, "region", "body."), resources=resources, detail=_field(found, "detail", dict, "body."),
    )  # fmt: skip


def _object_changes(outer: QueueMessage, found: Mapping[str, Any]) -> list[Message]:
    """Return the changes in a notification of S3: as it is, in the message of a topic, or as an event of EventBridge."""
    if found.get("Type") == "Notification":
        found = _object(load(_field(found, "Message", str, "body."), MAX_BYTES, MAX_DEPTH, "body.Message"), "body.Message")
    if found.get("Event") == _TEST_EVENT:
        return []
    if found.get("source") == "aws.s3":
        return [_change_of_event(outer, found)]
    records = found.get("Records")
    if not isinstance(records, list) or not records:
        raise MessageRefused(refusals.STREAM, "body", "is not a notification of S3: it has no Records, and does not come from aws.s3")
    return [_change(outer, _object(one, f"body.Records[{place}]"), f"body.Records[{place}].") for place, one in enumerate(records)]


def _change(outer: QueueMessage, record: Mapping[str, Any], path: str) -> ObjectChange:
    inner = _field(record, "s3", dict, path)
    thing, event = _field(inner, "object", dict, f"{path}s3."), _text(record, "eventName", path)
    return _object_change(
        stream=outer["stream"], at=_time(record, "eventTime", outer["at"], path), event=event.partition(":")[0],
        bucket=_text(_field(inner, "bucket", dict, f"{path}s3."), "name", f"{path}s3.bucket."),
        key=unquote_plus(_text(thing, "key", f"{path}s3.object.")), size=_size(thing, "size", f"{path}s3.object."),
        etag=_optional(thing, "eTag", f"{path}s3.object."), version=_optional(thing, "versionId", f"{path}s3.object."),
        sequencer=_optional(thing, "sequencer", f"{path}s3.object."), message_id=outer["id"],
    )  # fmt: skip


def _change_of_event(outer: QueueMessage, found: Mapping[str, Any]) -> ObjectChange:
    detail, path = _field(found, "detail", dict, "body."), "body.detail.object."
    thing, family = _field(detail, "object", dict, "body.detail."), _text(found, "detail-type", "body.").replace(" ", "")
    return _object_change(
        stream=outer["stream"], at=_time(found, "time", outer["at"], "body."), event="ObjectRemoved" if family == _DELETED else family,
        bucket=_text(_field(detail, "bucket", dict, "body.detail."), "name", "body.detail.bucket."), key=_text(thing, "key", path),
        size=_size(thing, "size", path), etag=_optional(thing, "etag", path), version=_optional(thing, "version-id", path),
        sequencer=_optional(thing, "sequencer", path), message_id=outer["id"],
    )  # fmt: skip


def _object_change(
    *, stream: str, at: float, event: str, bucket: str, key: str, size: int | None, etag: str, version: str, sequencer: str, message_id: str
) -> ObjectChange:  # fmt: skip
    """Return the change, whose id is the same however often S3 reports it; without a sequencer, that of the message identifies it."""
    return ObjectChange(
        stream=stream, id=f"{event}/{sequencer or message_id}/{version}/{bucket}/{key}", at=at, event=event, bucket=bucket, key=key,
        size=size, etag=etag, version=version, sequencer=sequencer,
    )  # fmt: skip


def _field(of: Mapping[str, Any], name: str, kind: type[T], path: str = "") -> T:
    found = of.get(name)
    if not isinstance(found, kind):
        raise _wrong(f"{path}{name}", "text" if kind is str else "object", found)
    return found


def _text(of: Mapping[str, Any], name: str, path: str = "") -> str:
    found = _field(of, name, str, path)
    if not found:
        raise MessageRefused(refusals.STREAM, f"{path}{name}", "is empty")
    return found


def _optional(of: Mapping[str, Any], name: str, path: str) -> str:
    return "" if of.get(name) is None else _field(of, name, str, path)


def _size(of: Mapping[str, Any], name: str, path: str) -> int | None:
    found = of.get(name)
    if found is not None and (type(found) is not int or found < 0):
        raise _wrong(f"{path}{name}", "number of bytes", found)
    return found


def _time(of: Mapping[str, Any], name: str, otherwise: float, path: str) -> float:
    if of.get(name) is None:
        return otherwise
    found = _field(of, name, str, path)
    try:
        return timestamps.read(found)
    except ValueError as wrong:
        raise MessageRefused(refusals.STREAM, f"{path}{name}", f"is not a time by RFC 3339: {type(wrong).__name__}") from None


def _object(found: object, path: str) -> Mapping[str, Any]:
    if not isinstance(found, dict):
        raise _wrong(path, "object", found)
    return found


def _wrong(path: str, wanted: str, found: object) -> MessageRefused:
    """Return the error for the value at *path*. It does not contain the value, because it is logged."""
    return MessageRefused(refusals.STREAM, path, f"is of type {type(found).__name__}, not {wanted}")
