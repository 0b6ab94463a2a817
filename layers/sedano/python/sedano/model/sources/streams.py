"""Records of streams: the form that Lambda delivers, and the form that tasks receive. Pure.

A record from the stream of a DynamoDB table has one item before and after its change; a record from a Kinesis stream has the data of its
producer; a message of a queue is read by its format (`sedano.model.sources.queue_messages`). Tasks receive plain JSON: the types of a table
become the nearest JSON types, and numbers are not rounded.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Final, Literal, TypedDict, TypeVar, cast

from sedano.errors import MessageRefused
from sedano.model import refusals
from sedano.model.messages.lineage import derived_id
from sedano.model.messages.timestamps import LAST_SECOND
from sedano.model.sources.queue_messages import MESSAGE, Message, read_messages

QUEUE = "stream:"
"""The prefix of the origin of a parked record, before the name of the stream."""
Operation = Literal["INSERT", "MODIFY", "REMOVE"]
OPERATIONS: Final = ("INSERT", "MODIFY", "REMOVE")
SQS = "aws:sqs"
"""The event source of a message of a queue."""
TIME_TO_LIVE = "dynamodb.amazonaws.com"
"""The name, in a record, of the service that removes expired items."""
_LARGEST = 126
"""The most digits before the decimal point of a number in a table."""
T = TypeVar("T")


class TableChange(TypedDict):
    """One change of an item, from the table's stream.

    stream: the name of the stream in `@app.stream`. id: the id of the record; a repeated record has the same id. at: the approximate time
    of the change (whole epoch s); if the record has no time, the time at which it was read. operation: ``INSERT``, ``MODIFY`` or
    ``REMOVE``. keys: the item's partition key, and its sort key if it has one, by name. new: the item after the change; None if it was
    removed, or if the stream's view type does not include it. old: the item before the change; None if it did not exist, or if the stream's
    view type does not include it. expired: whether the item was removed because its time to live ended.

    Attributes are JSON: a whole number is an int; another number is a float if a float represents it exactly, else a string; a set is a
    sorted list; binary data is a base64 string.
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

    stream: the name of the stream in `@app.stream`. id: the shard and the sequence number of the record; a repeated record has the same id.
    at: the approximate time of its arrival (epoch s). partition_key: the partition key that the producer chose; records with the same key
    are in order. data: the producer's data as text; None if it is not UTF-8. data_base64: the producer's data as a base64 string if it is
    not UTF-8; else None.
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
"""A record of each kind; the parameters of a task are checked with these at its declaration."""


Record = TableChange | StreamRecord | Message


def read_all(stream: str, record: Mapping[str, Any], now: float, form: str = MESSAGE) -> Sequence[Record]:
    """Return what *record*, as Lambda delivered it, contains, in the form for tasks: one record, or the messages by the format *form*.

    Raises:
        MessageRefused: *record* cannot be read.
    """
    return read_messages(stream, record, form, now) if is_of_queue(record) else [read(stream, record, now)]


def is_of_queue(record: Mapping[str, Any]) -> bool:
    """Return whether *record* is a message of a queue."""
    return record.get("eventSource") == SQS


def read(stream: str, record: Mapping[str, Any], now: float) -> TableChange | StreamRecord:
    """Return *record*, as Lambda delivered it, in the form for tasks; *now* (epoch s) replaces a missing time.

    Raises:
        MessageRefused: *record* is not a record of a stream, or has an unknown type.
    """
    if "dynamodb" in record:
        return _change(stream, record, now)
    if "kinesis" in record:
        return _record(stream, record, now)
    raise MessageRefused(refusals.STREAM, "record", "is neither from a DynamoDB table nor from Kinesis")


def sequence(record: Mapping[str, Any]) -> str:
    """Return the sequence number, or the message id, by which Lambda identifies *record*; empty if it has none, which Lambda treats as the
    whole batch."""
    if is_of_queue(record):
        return str(record.get("messageId", ""))
    for part, name in (("dynamodb", "SequenceNumber"), ("kinesis", "sequenceNumber")):
        found = record.get(part)
        if isinstance(found, dict) and isinstance(found.get(name), str):
            return str(found[name])
    return ""


def call_id(stream: str, task: str, record_id: str) -> str:
    """Return the id of the call of *task* (its name) with the record *record_id* of *stream*; it is the same for every delivery.

    *record_id* is the `id` of the record for tasks: a table's `eventID`; the shard and sequence number of Kinesis with a colon between; the
    `id` of a message.
    """
    return derived_id(f"stream/{stream}/{task}", record_id)


def written(record: Mapping[str, Any]) -> str:
    """Return *record* as JSON text, the form in which it is parked."""
    return json.dumps(record, separators=(",", ":"))


def read_back(text: str) -> Mapping[str, Any]:
    """Return the record in *text*.

    Raises:
        MessageRefused: *text* is not a record.
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
        raise MessageRefused(refusals.STREAM, "eventID", "is empty, but a repeated record is recognised by it")
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
    """Return the JSON value of *typed*, an attribute in the form of DynamoDB (`{"N": "5"}`)."""
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
    text = _text(found, path)
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise MessageRefused(refusals.STREAM, path, "is not base64") from None
    return text


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
    """Return the error for the value at *path*. It does not contain the value, because it is logged."""
    return MessageRefused(refusals.STREAM, path, f"is of type {type(found).__name__}, not a {wanted}")


_TYPES: Mapping[str, Callable[[Any, str], Any]] = {
    "S": _text, "N": _number, "B": _base64, "BOOL": _flag, "NULL": _null, "L": _list, "M": _map, "SS": _texts, "NS": _numbers,
    "BS": _binaries,
}  # fmt: skip
