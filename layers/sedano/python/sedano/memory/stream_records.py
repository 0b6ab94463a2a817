"""Records of streams as Lambda hands them over, made here: what a change of a table or a record of Kinesis looks like to the function."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from decimal import Decimal
from math import isfinite
from typing import Any

from sedano.errors import OptionError
from sedano.model.sources.streams import TIME_TO_LIVE


def table_record(
    number: int, at: float, keys: Mapping[str, Any], new: Mapping[str, Any] | None, old: Mapping[str, Any] | None, expired: bool = False
) -> dict[str, Any]:  # fmt: skip
    """Return record *number* (from 1) of a table's stream, whose view type is both images: the item with *keys* was *old* and is *new*.

    As in a table, its keys are part of both. *expired*: it is gone because its time to live was over.

    Raises:
        OptionError: nothing has changed, or no table holds such an item.
    """
    images = {name: _image(keys, image, name) for name, image in (("NewImage", new), ("OldImage", old)) if image is not None}
    if images.get("NewImage") == images.get("OldImage"):
        raise OptionError("new, old: a table reports only changes; give new=, or old=, or both, which differ")
    if expired and new is not None:
        raise OptionError("expired: an expired item is gone; give old= alone")
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
    if len(typed) not in (1, 2) or not all({*one} <= {"S", "N", "B"} for one in typed.values()):
        raise OptionError(f"keys: no table has {keys!r:.80}; give a partition key, and a sort key if there is one: text, number, bytes")
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
    if len(kinds) != 1 or not kinds <= {"S", "N", "B"}:
        raise OptionError(f"{path}: no table holds {value!r:.80}; a set has texts, or numbers, or bytes, and at least one")
    (kind,) = kinds
    return {f"{kind}S": [part[kind] for part in parts]}
