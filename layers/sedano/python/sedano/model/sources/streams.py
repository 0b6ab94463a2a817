"""Records of streams: as Lambda hands them over, and as tasks get them. Pure.

A record comes from a DynamoDB table's stream, where it holds one item before and after its change, or from a Kinesis stream, where it holds
the data of its producer. Tasks get plain JSON: a table's own types become the nearest ones that JSON has, and nothing is rounded.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Final, Literal, TypedDict, TypeVar, cast

from sedano.errors import MessageRefused
from sedano.model import refusals
from sedano.model.messages.lineage import derived_id
from sedano.model.messages.timestamps import LAST_SECOND

QUEUE = "stream:"
"""How the place that a parked record came from begins; the stream's name follows."""
Operation = Literal["INSERT", "MODIFY", "REMOVE"]
OPERATIONS: Final = ("INSERT", "MODIFY", "REMOVE")
TIME_TO_LIVE = "dynamodb.amazonaws.com"
"""The record's name of the service that removes expired items."""
_LARGEST = 126
"""The digits before the point of the largest number that a table holds."""
T = TypeVar("T")


class TableChange(TypedDict):
    """One change of an item, from the table's stream.

    stream: the name of the stream in `@app.stream`.
    id: of the record; the same when it is repeated.
    at: about when it happened (epoch s, whole); where the record does not say, when it was read.
    operation: ``INSERT``, ``MODIFY`` or ``REMOVE``.
    keys: the item's partition key, and its sort key if it has one, by name.
    new: the item after the change; None when it was removed, or the stream's view type leaves it out.
    old: the item before the change; None when it was not there, or the stream's view type leaves it out.
    expired: it was removed because its time to live was over.

    Attributes are JSON: a number is an int when it is whole, a float when that is the very number, else its text; a set is a sorted list;
    binary data is base64 text.
    """

    stream: str
    id: str
    at: float
    operation: Operation
    keys: dict[str, Any]
    new: dict[str, Any] | None
    old: dict[str, Any] | None
    expired: bool


class StreamRecord(TypedDict):
    """One record of a Kinesis stream.

    stream: the name of the stream in `@app.stream`.
    id: of the record, its shard and sequence number; the same when it is repeated.
    at: about when it arrived (epoch s).
    partition_key: the key of its producer; records of one key are in order.
    data: the producer's data, as text; None when it is not UTF-8.
    data_base64: the producer's data, as base64 text, when it is not UTF-8; else None.
    """

    stream: str
    id: str
    at: float
    partition_key: str
    data: str | None
    data_base64: str | None


EXAMPLES: tuple[TableChange, StreamRecord] = (
    TableChange(stream="orders", id="1", at=0, operation="INSERT", keys={"pk": "1"}, new={"pk": "1"}, old=None, expired=False),
    StreamRecord(stream="clicks", id="1", at=0.0, partition_key="1", data="{}", data_base64=None),
)
"""A record of each kind, with which a task is tried when it is declared."""


def read(stream: str, record: Mapping[str, Any], now: float) -> TableChange | StreamRecord:
    """Return the tasks' form of *record*, which Lambda handed over; *now* (epoch s) replaces a missing moment.

    Raises:
        MessageRefused: it is not a record of a stream, or has an unknown type.
    """
    if "dynamodb" in record:
        return _change(stream, record, now)
    if "kinesis" in record:
        return _record(stream, record, now)
    raise MessageRefused(refusals.STREAM, "record", "is neither from a DynamoDB table nor from Kinesis")


def sequence(record: Mapping[str, Any]) -> str:
    """Return the sequence number by which Lambda knows *record*; empty when it has none, which means the whole batch to Lambda."""
    for part, name in (("dynamodb", "SequenceNumber"), ("kinesis", "sequenceNumber")):
        found = record.get(part)
        if isinstance(found, dict) and isinstance(found.get(name), str):
            return str(found[name])
    return ""


def call_id(stream: str, task: str, record_id: str) -> str:
    """Return the id of the call of *task* (its name) with the record *record_id* of *stream*, however often that is delivered.

    *record_id* is what the record says as `id`: a table's `eventID`, or the shard and sequence number of Kinesis with a colon between.
    """
    return derived_id(f"stream/{stream}/{task}", record_id)


def written(record: Mapping[str, Any]) -> str:
    """Return *record* as JSON text: how it is parked."""
    return json.dumps(record, separators=(",", ":"))


def read_back(text: str) -> Mapping[str, Any]:
    """Return the record that *text* holds.

    Raises:
        MessageRefused: it holds none.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as wrong:
        raise MessageRefused(refusals.SCHEMA, "body", f"not a stream's record: {type(wrong).__name__}") from None
    if not isinstance(found, dict):
        raise MessageRefused(refusals.SCHEMA, "body", f"not a stream's record: {type(found).__name__}")
    return found


def _change(stream: str, record: Mapping[str, Any], now: float) -> TableChange:
    told = _field(record, "dynamodb", dict)
    operation = _field(record, "eventName", str)
    if operation not in OPERATIONS:
        raise MessageRefused(refusals.STREAM, "eventName", f"is not one of {', '.join(OPERATIONS)}")
    return {
        "stream": stream, "id": _id(record), "at": _moment(told, "ApproximateCreationDateTime", now),
        "operation": cast("Operation", operation), "keys": _map(told.get("Keys"), "Keys"), "new": _item(told, "NewImage"),
        "old": _item(told, "OldImage"), "expired": _by_time_to_live(record),
    }  # fmt: skip


def _by_time_to_live(record: Mapping[str, Any]) -> bool:
    who = record.get("userIdentity")
    return isinstance(who, dict) and who.get("principalId") == TIME_TO_LIVE


def _record(stream: str, record: Mapping[str, Any], now: float) -> StreamRecord:
    told = _field(record, "kinesis", dict)
    data = _base64(told.get("data"), "data")
    try:
        text = base64.b64decode(data).decode("utf-8")
    except UnicodeDecodeError:
        text = None
    return {
        "stream": stream, "id": _id(record), "at": _moment(told, "approximateArrivalTimestamp", now),
        "partition_key": _field(told, "partitionKey", str), "data": text, "data_base64": data if text is None else None,
    }  # fmt: skip


def _field(of: Mapping[str, Any], name: str, kind: type[T]) -> T:
    found = of.get(name)
    if not isinstance(found, kind):
        raise _wrong(name, kind.__name__, found)
    return found


def _id(record: Mapping[str, Any]) -> str:
    found = _field(record, "eventID", str)
    if not found:
        raise MessageRefused(refusals.STREAM, "eventID", "is empty; a repeated record is recognised by it")
    return found


def _moment(told: Mapping[str, Any], name: str, now: float) -> float:
    found = told.get(name, now)
    if not isinstance(found, int | float) or isinstance(found, bool) or not 0 <= found <= LAST_SECOND:
        raise _wrong(name, "number of seconds", found)
    return found


def _item(told: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    found = told.get(name)
    return None if found is None else _map(found, name)


def _value(typed: Any, path: str) -> Any:
    """Return what *typed*, an attribute as DynamoDB writes it (`{"N": "5"}`), is in JSON."""
    if not isinstance(typed, dict) or len(typed) != 1:
        raise _wrong(path, "value with its one type", typed)
    ((kind, found),) = typed.items()
    if kind not in _TYPES:
        raise MessageRefused(refusals.STREAM, path, f"has the type {kind!r:.20}, which is not one of {', '.join(_TYPES)}")
    return _TYPES[kind](found, path)


def _text(found: Any, path: str) -> str:
    if not isinstance(found, str):
        raise _wrong(path, "text", found)
    return found


def _number(found: Any, path: str) -> int | float | str:
    exact = _decimal(found, path)
    if exact == exact.to_integral_value():
        return int(exact)
    near = float(exact)
    return near if Decimal(repr(near)) == exact else str(found)


def _decimal(found: Any, path: str) -> Decimal:
    try:
        exact = Decimal(_text(found, path))
    except InvalidOperation:
        raise _wrong(path, "number", found) from None
    if not exact.is_finite() or exact.adjusted() >= _LARGEST:
        raise MessageRefused(refusals.STREAM, path, "is not a number that a table can hold")
    return exact


def _base64(found: Any, path: str) -> str:
    try:
        base64.b64decode(_text(found, path), validate=True)
    except (binascii.Error, ValueError):
        raise MessageRefused(refusals.STREAM, path, "is not base64") from None
    return str(found)


def _flag(found: Any, path: str) -> bool:
    if not isinstance(found, bool):
        raise _wrong(path, "true or false", found)
    return found


def _null(found: Any, path: str) -> None:
    _flag(found, path)


def _list(found: Any, path: str) -> list[Any]:
    if not isinstance(found, list):
        raise _wrong(path, "list", found)
    return [_value(part, f"{path}[{index}]") for index, part in enumerate(found)]


def _map(found: Any, path: str) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise _wrong(path, "map", found)
    return {name: _value(part, f"{path}.{name}") for name, part in found.items()}


def _numbers(found: Any, path: str) -> list[Any]:
    return [_number(one, path) for one in sorted(_all(found, path), key=lambda one: _decimal(one, path))]


def _texts(found: Any, path: str) -> list[str]:
    return sorted(_text(one, path) for one in _all(found, path))


def _binaries(found: Any, path: str) -> list[str]:
    return sorted(_base64(one, path) for one in _all(found, path))


def _all(found: Any, path: str) -> list[Any]:
    if not isinstance(found, list):
        raise _wrong(path, "set", found)
    return found


def _wrong(path: str, wanted: str, found: object) -> MessageRefused:
    """Return the refusal of the value at *path*; it shows no values, because it is logged."""
    return MessageRefused(refusals.STREAM, path, f"is of type {type(found).__name__}, and not a {wanted}")


_TYPES: Mapping[str, Callable[[Any, str], Any]] = {
    "S": _text, "N": _number, "B": _base64, "BOOL": _flag, "NULL": _null, "L": _list, "M": _map, "SS": _texts, "NS": _numbers,
    "BS": _binaries,
}  # fmt: skip
