"""Makes records of streams in the form in which Lambda passes them to a function: a change of a table, a record of Kinesis, a message of a
queue."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from decimal import Decimal
from math import isfinite
from typing import Any
from urllib.parse import quote_plus
from uuid import UUID

from sedano.errors import OptionError
from sedano.model.messages.timestamps import write
from sedano.model.sources.streams import SQS, TIME_TO_LIVE

KEY_TYPES = ({"S"}, {"N"}, {"B"})
"""The types that a key, and the members of a set, can have."""


def table_record(
    number: int, at: float, keys: Mapping[str, Any], new: Mapping[str, Any] | None, old: Mapping[str, Any] | None, expired: bool = False
) -> dict[str, Any]:  # fmt: skip
    """Return record *number* (from 1) of a table's stream with the view type NEW_AND_OLD_IMAGES: the item with *keys* was *old* and is now
    *new*.

    As in a table, both images contain the keys. *expired*: the item was deleted because its time to live had passed.

    Raises:
        OptionError: the images are equal, or a table cannot hold such an item.
    """
    images = {name: _image(keys, image, name) for name, image in (("NewImage", new), ("OldImage", old)) if image is not None}
    if images.get("NewImage") == images.get("OldImage"):
        raise OptionError("new, old: a table reports only changes; give new=, old=, or two different images")
    if expired and new is not None:
        raise OptionError("expired: an expired item has no new image; give only old=")
    who = {"userIdentity": {"type": "Service", "principalId": TIME_TO_LIVE}} if expired else {}
    return {
        "eventID": f"{number:032x}", "eventName": "REMOVE" if new is None else "INSERT" if old is None else "MODIFY", "eventVersion": "1.1",
        "eventSource": "aws:dynamodb", "awsRegion": "eu-central-1",
        "dynamodb": {
            "ApproximateCreationDateTime": int(at), "Keys": _image(keys, {}, "keys"), **images, "SequenceNumber": f"{number:021}",
            "SizeBytes": 1, "StreamViewType": "NEW_AND_OLD_IMAGES",
        },
        **who,
    }  # fmt: skip


def _image(keys: Mapping[str, Any], image: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Return *image* with its *keys* as a table writes it."""
    typed: dict[str, Any] = _typed(dict(keys), "keys")["M"]
    if len(typed) not in (1, 2) or not all({*one} in KEY_TYPES for one in typed.values()):
        raise OptionError(f"keys: {keys!r:.80} is not a key; give a partition key, and a sort key if there is one: text, number, bytes")
    whole = {**typed, **_typed(dict(image), path)["M"]}
    for name, key in typed.items():
        if whole[name] != key:
            raise OptionError(f"{path}.{name}: is {image[name]!r:.80} and in keys {keys[name]!r:.80}; an item keeps its keys")
    return whole


def kinesis_record(number: int, at: float, data: bytes, partition_key: str) -> dict[str, Any]:
    """Return record *number* (from 1) of a Kinesis stream of one shard, which holds *data*."""
    sequence = f"{number:056}"
    return {
        "kinesis": {
            "kinesisSchemaVersion": "1.0", "partitionKey": partition_key, "sequenceNumber": sequence,
            "data": base64.b64encode(data).decode("ascii"), "approximateArrivalTimestamp": at,
        },
        "eventSource": "aws:kinesis", "eventVersion": "1.0", "eventID": f"shardId-000000000000:{sequence}",
        "eventName": "aws:kinesis:record", "awsRegion": "eu-central-1",
    }  # fmt: skip


def queue_record(number: int, at: float, body: str, attributes: Mapping[str, str]) -> dict[str, Any]:
    """Return message *number* (from 1) of a queue, with its *body* and its message *attributes*, sent at *at* (epoch s)."""
    return {
        "messageId": str(UUID(int=number)), "receiptHandle": f"receipt-{number}", "body": body,
        "attributes": {"ApproximateReceiveCount": "1", "SentTimestamp": str(int(at * 1000))},
        "messageAttributes": {name: {"stringValue": text, "dataType": "String"} for name, text in attributes.items()},
        "eventSource": SQS, "eventSourceARN": "arn:aws:sqs:eu-central-1:123456789012:queue", "awsRegion": "eu-central-1",
    }  # fmt: skip


def s3_notification(number: int, at: float, bucket: str, key: str, event: str, size: int | None) -> str:
    """Return the notification of S3 about change *number* (from 1) of the object at *key*; *event*: such as ``ObjectCreated:Put``."""
    thing = {"key": quote_plus(key, safe="/"), "sequencer": f"{number:018X}", **({"size": size} if size is not None else {})}
    record = {
        "eventVersion": "2.1", "eventSource": "aws:s3", "awsRegion": "eu-central-1", "eventTime": write(at), "eventName": event,
        "s3": {"s3SchemaVersion": "1.0", "bucket": {"name": bucket, "arn": f"arn:aws:s3:::{bucket}"}, "object": thing},
    }  # fmt: skip
    return json.dumps({"Records": [record]})


def _typed(value: Any, path: str) -> dict[str, Any]:
    """Return *value* as a table writes it: with its type."""
    if value is None or isinstance(value, bool):
        return {"NULL": True} if value is None else {"BOOL": value}
    if isinstance(value, str):
        return {"S": value}
    if isinstance(value, int | Decimal) or (isinstance(value, float) and isfinite(value)):
        return {"N": str(value)}
    if isinstance(value, bytes):
        return {"B": base64.b64encode(value).decode("ascii")}
    if isinstance(value, list | tuple):
        return {"L": [_typed(part, f"{path}[{index}]") for index, part in enumerate(value)]}
    if isinstance(value, dict):
        return {"M": {name: _typed(part, f"{path}.{name}") for name, part in value.items()}}
    return _typed_set(value, path)


def _typed_set(value: Any, path: str) -> dict[str, Any]:
    parts = [_typed(part, path) for part in value] if isinstance(value, set | frozenset) else []
    kinds = {kind for part in parts for kind in part}
    if kinds not in KEY_TYPES:
        raise OptionError(f"{path}: a table cannot hold {value!r:.80}; a set has at least one member, and only texts, numbers or bytes")
    (kind,) = kinds
    return {f"{kind}S": [part[kind] for part in parts]}
