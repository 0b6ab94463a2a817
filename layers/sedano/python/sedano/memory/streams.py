"""Records of streams as Lambda hands them over, made here: what a change of a table or a record of Kinesis looks like to the function."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from decimal import Decimal
from math import isfinite
from typing import Any

from sedano.errors import OptionError


def table_record(
    number: int, at: float, keys: Mapping[str, Any], new: Mapping[str, Any] | None, old: Mapping[str, Any] | None
) -> dict[str, Any]:  # fmt: skip
    """Return record *number* (from 1) of a table's stream, whose view type is both images: the item with *keys* was *old* and is *new*.

    Raises:
        OptionError: it is neither, or has an attribute that a table does not hold.
    """
    if new is None and old is None:
        raise OptionError("new, old: an item that neither was nor is has not changed; give new=, or old=, or both")
    images = {"NewImage": new, "OldImage": old}
    told = {name: _typed(dict(image), name)["M"] for name, image in images.items() if image is not None}
    return {
        "eventID": f"{number:032x}", "eventName": "REMOVE" if new is None else "INSERT" if old is None else "MODIFY", "eventVersion": "1.1",
        "eventSource": "aws:dynamodb", "awsRegion": "eu-central-1",
        "dynamodb": {
            "ApproximateCreationDateTime": int(at), "Keys": _typed(dict(keys), "keys")["M"], **told, "SequenceNumber": f"{number:021}",
            "SizeBytes": 1, "StreamViewType": "NEW_AND_OLD_IMAGES",
        },
    }  # fmt: skip


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
