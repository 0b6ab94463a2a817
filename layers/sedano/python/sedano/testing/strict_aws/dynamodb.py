"""Finds in a call what DynamoDB refuses: its expressions, keys and items, and the totals of batches and transactions."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sedano.testing.strict_aws import dynamodb_expressions as expressions
from sedano.testing.strict_aws.dynamodb_values import KEYS, Item, item_problems, item_size, key_problems, value_problems, value_size
from sedano.testing.strict_aws.limits import LIMITS, Trip, over

_ONLY_OLD = ("NONE", "ALL_OLD")


def problems(operation: str, call: Mapping[str, Any]) -> Iterator[Trip]:
    """Yield what DynamoDB refuses of a call."""
    check = _OPERATIONS.get(operation)
    return iter(()) if check is None else check(call)


def answer_problems(operation: str, answer: Mapping[str, Any]) -> Iterator[Trip]:
    """Yield what DynamoDB would not have written: an item that the answer shows and that is too large."""
    for name in ("Attributes", "Item"):
        item = answer.get(name)
        if isinstance(item, Mapping) and item:
            yield from over("dynamodb.item", f"size of the item that {operation} returned", item_size(item))


def _single(call: Mapping[str, Any]) -> Iterator[Trip]:
    yield from expressions.problems(call)
    yield from key_problems(call.get("Key", {}))
    yield from item_problems(call.get("Item", {}))


def _put_or_delete(call: Mapping[str, Any]) -> Iterator[Trip]:
    yield from _single(call)
    if call.get("ReturnValues", "NONE") not in _ONLY_OLD:
        yield Trip("dynamodb.return_values", f"ReturnValues can only be {' or '.join(_ONLY_OLD)}")


def _update(call: Mapping[str, Any]) -> Iterator[Trip]:
    yield from _single(call)
    yield from over("dynamodb.item", "Item size to update has exceeded the maximum allowed size", least_size(call))


def least_size(call: Mapping[str, Any]) -> int:
    """Return the bytes that the item has at least after an UpdateItem: its key, and each value that the update sets as it is."""
    values = call.get("ExpressionAttributeValues") or {}
    parts = [[token.text for token in part] for part in expressions.assignments(call.get("UpdateExpression") or "")]
    whole = [part[-1] for part in parts if len(part) > 2 and part[-2] == "=" and part[-1] in values]
    return item_size(call.get("Key", {})) + sum(value_size(values[name]) for name in whole)


def _batch_get(call: Mapping[str, Any]) -> Iterator[Trip]:
    keys = [(table, _text(key)) for table, request in call["RequestItems"].items() for key in request["Keys"]]
    yield from over("dynamodb.batch_get", "too many items requested for the BatchGetItem call", len(keys))
    if len(set(keys)) < len(keys):
        yield Trip("dynamodb.keys_twice", "provided list of item keys contains duplicates")
    for request in call["RequestItems"].values():
        yield from expressions.problems(request)
        for key in request["Keys"]:
            yield from key_problems(key)


def _batch_write(call: Mapping[str, Any]) -> Iterator[Trip]:
    writes = [(table, write) for table, requests in call["RequestItems"].items() for write in requests]
    yield from over("dynamodb.batch_write", "too many items requested for the BatchWriteItem call", len(writes))
    items = [write["PutRequest"]["Item"] for _, write in writes if "PutRequest" in write]
    for item in items:
        yield from item_problems(item)
    keys = [(table, _text(_key_of(write.get("DeleteRequest", write.get("PutRequest", {}))))) for table, write in writes]
    if len(set(keys)) < len(keys):
        yield Trip("dynamodb.keys_twice", "provided list of item keys contains duplicates")


def _transaction(call: Mapping[str, Any]) -> Iterator[Trip]:
    actions: list[Mapping[str, Any]] = []
    for one in call["TransactItems"]:
        if len(one) != 1:
            yield Trip("dynamodb.transact_action", f"TransactItems can only contain one of {', '.join(sorted(one))}")
        actions += one.values()
    yield from over("dynamodb.transact", "member must have length less than or equal to 100: TransactItems", len(actions))
    for action in actions:
        yield from _single(action)
    yield from over("dynamodb.transact_bytes", "aggregate size of the items", sum(map(_weight, actions)))
    for (table, key), times in Counter((action["TableName"], _text(_key_of(action))) for action in actions).items():
        if times > 1:
            yield Trip("dynamodb.transact_twice", f"transaction request cannot include multiple operations on one item: {table} {key}")


def _weight(action: Mapping[str, Any]) -> int:
    values = action.get("ExpressionAttributeValues") or {}
    return item_size(_key_of(action) if "Item" not in action else action["Item"]) + sum(map(value_size, values.values()))


def _key_of(action: Mapping[str, Any]) -> Item:
    """Return the key of an action; for an item of a table with other names of keys, the whole item."""
    item: Item = action.get("Item", {})
    key: Item = action.get("Key") or {name: item[name] for name in KEYS if name in item}
    return key if "Key" in action or KEYS[0] in key else item


def _text(key: Item) -> str:
    return json.dumps(key, sort_keys=True, default=str)


def _statements(call: Mapping[str, Any]) -> Iterator[Trip]:
    statements: Sequence[Mapping[str, Any]] = call["Statements"]
    yield from over("dynamodb.partiql", "statements of a batch", len(statements))
    if len({one["Statement"].lstrip()[:6].upper() == "SELECT" for one in statements}) > 1:
        yield Trip("dynamodb.partiql_mixed", "a batch holds reads alone or writes alone")
    for one in statements:
        if len(one["Statement"]) > LIMITS["dynamodb.statement"]:
            yield Trip("dynamodb.statement", f"characters of a statement: {len(one['Statement'])}")
        for number, value in enumerate(one.get("Parameters", ())):
            yield from value_problems(value, f"Parameters[{number}]")


_OPERATIONS: dict[str, Callable[[Mapping[str, Any]], Iterator[Trip]]] = {
    "GetItem": _single, "Query": _single, "Scan": _single, "PutItem": _put_or_delete, "DeleteItem": _put_or_delete, "UpdateItem": _update,
    "BatchGetItem": _batch_get, "BatchWriteItem": _batch_write, "TransactWriteItems": _transaction, "BatchExecuteStatement": _statements,
}  # fmt: skip
