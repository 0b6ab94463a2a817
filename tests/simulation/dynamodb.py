"""A DynamoDB of one partition key, as its clients see it: conditional writes, reads, transactions and TTL, over dicts.

It evaluates the expressions that it is sent. Whoever watches it (`Database.watchers`) is told of every write that changed something, with
the item before and after: that is where the refinement check stands. Errors are botocore's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from email.utils import formatdate
from functools import lru_cache
from typing import Any, NamedTuple

from botocore.exceptions import ClientError

from sedano.aws.expressions.statements import MOST
from tests.simulation import expressions, statements
from tests.simulation.values import Invalid, Item, Value

Tables = dict[str, dict[str, Item]]
REFUSED = "ConditionalCheckFailedException"
CANCELLED = "TransactionCanceledException"
_NONE: Mapping[str, Any] = {}
_ALL_OLD = "ReturnValuesOnConditionCheckFailure"


class Change(NamedTuple):
    """A write that was carried out: by whom (*author* is the caller's own mark), where, and the item before and after (None: none)."""

    author: Any
    table: str
    key: str
    old: Item | None
    new: Item | None


@lru_cache(4096)
def date(seconds: int) -> str:
    """Return a moment as the `Date` header has it."""
    return formatdate(seconds, usegmt=True)


def error(code: str, operation: str, text: str = "", **more: Any) -> ClientError:
    """Return the error that botocore raises when DynamoDB answers *code*."""
    status = 500 if code == "InternalServerError" else 400
    answer: Any = {"Error": {"Code": code, "Message": text or code}, "ResponseMetadata": {"HTTPStatusCode": status}, **more}
    return ClientError(answer, operation)


class Database:
    """Tables by name. Every operation is atomic; *author* travels with it to the watchers."""

    def __init__(self) -> None:
        """Have no table; one comes into being when it is first used."""
        self.tables: Tables = {}
        self.watchers: list[Callable[[Change], None]] = []
        self.writes = 0
        self.clock: Callable[[], float] | None = None

    def table(self, name: str) -> dict[str, Item]:
        """Return the items of a table by key."""
        found = self.tables.get(name)
        if found is None:
            found = self.tables[name] = {}
        return found

    def call(self, operation: str, author: Any, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Carry out *operation* as a client would ask for it; with a *clock*, the answer and the refusal bear its date."""
        if self.clock is None:
            return _OPERATIONS[operation](self, author, parameters)
        headers = {"HTTPHeaders": {"date": date(int(self.clock()))}}
        try:
            answer = _OPERATIONS[operation](self, author, parameters)
            answer["ResponseMetadata"] = headers
            return answer
        except ClientError as refused:
            refused.response["ResponseMetadata"].update(headers)  # type: ignore[typeddict-item] # as botocore has it
            raise

    def expire(self, table: str, now: float) -> int:
        """Delete what TTL allows to be deleted at *now* (epoch s) and return how many items that were."""
        items = self.table(table)
        due = [key for key, item in items.items() if "ttl" in item and int(item["ttl"]["N"]) < now]
        for key in due:
            self._changed(Change(None, table, key, items.pop(key), None))
        return len(due)

    def _changed(self, change: Change) -> None:
        for watcher in self.watchers:
            watcher(change)

    def _set(self, author: Any, table: str, key: str, new: Item | None) -> None:
        items = self.table(table)
        old = items.get(key)
        if new is None:
            items.pop(key, None)
        else:
            items[key] = new
        self.writes += 1
        self._changed(Change(author, table, key, old, new))

    def update_item(self, author: Any, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Change one item where its condition holds."""
        table, key = asked["TableName"], asked["Key"]["pk"]["S"]
        old = self.table(table).get(key)
        self._require(asked, old, "UpdateItem")
        new = _updated(asked, old, key)
        self._set(author, table, key, new)
        wanted = asked.get("ReturnValues", "NONE")
        return _returned(wanted, old, new) if wanted != "NONE" else {}

    def put_item(self, author: Any, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Replace one item where its condition holds."""
        table, key = asked["TableName"], asked["Item"]["pk"]["S"]
        old = self.table(table).get(key)
        self._require(asked, old, "PutItem")
        self._set(author, table, key, dict(asked["Item"]))
        return _returned(asked.get("ReturnValues", "NONE"), old, None)

    def delete_item(self, author: Any, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Delete one item where its condition holds."""
        table, key = asked["TableName"], next(iter(asked["Key"].values()))["S"]
        old = self.table(table).get(key)
        self._require(asked, old, "DeleteItem")
        self._set(author, table, key, None)
        return _returned(asked.get("ReturnValues", "NONE"), old, None)

    def get_item(self, _: Any, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Read one item, strongly consistent."""
        found = self.table(asked["TableName"]).get(asked["Key"]["pk"]["S"])
        return {} if found is None else {"Item": dict(found)}

    def batch_get_item(self, _: Any, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Read items by key."""
        answers = {}
        for table, wanted in asked["RequestItems"].items():
            items = self.table(table)
            answers[table] = [dict(items[key["pk"]["S"]]) for key in wanted["Keys"] if key["pk"]["S"] in items]
        return {"Responses": answers, "UnprocessedKeys": {}}

    def query(self, _: Any, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Read what an index holds under one key; its partition key is the name before the `=`."""
        name, _, value = asked["KeyConditionExpression"].partition(" = ")
        wanted = asked["ExpressionAttributeValues"][value]
        return {"Items": [dict(item) for _, item in sorted(self.table(asked["TableName"]).items()) if item.get(name) == wanted]}

    def scan(self, _: Any, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Read everything, in the order of the keys."""
        return {"Items": [dict(item) for _, item in sorted(self.table(asked["TableName"]).items())]}

    def transact_write_items(self, author: Any, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Carry out all writes, or none when a condition does not hold."""
        planned: list[tuple[str, str, Item | None]] = []
        reasons: list[dict[str, Any]] = []
        for entry in asked["TransactItems"]:
            ((kind, one),) = entry.items()
            key = one["Item"]["pk"]["S"] if kind == "Put" else one["Key"]["pk"]["S"]
            old = self.table(one["TableName"]).get(key)
            held = self._holds(one, old)
            back = {"Item": old} if not held and old and one.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD" else {}
            reasons.append({"Code": "None" if held else "ConditionalCheckFailed", **back})
            if held and kind != "ConditionCheck":
                new = dict(one["Item"]) if kind == "Put" else _updated(one, old, key) if kind == "Update" else None
                planned.append((one["TableName"], key, new))
        if any(reason["Code"] != "None" for reason in reasons):
            codes = ", ".join(reason["Code"] for reason in reasons)
            raise error(CANCELLED, "TransactWriteItems", f"[{codes}]", CancellationReasons=reasons)
        for table, key, new in planned:
            self._set(author, table, key, new)
        return {}

    def batch_execute_statement(self, author: Any, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Carry out statements, each on its own; a call with two writes of one item is refused as a whole."""
        given = [written_as(statement) for statement in asked["Statements"]]
        if len(given) > MOST or len({one["Key"]["pk"]["S"] for one in given}) < len(given):
            raise error("ValidationException", "BatchExecuteStatement", "too many statements, or two of one item")
        return {"Responses": [self.execute(author, one) for one in given]}

    def execute(self, author: Any, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Carry out one statement, given `written_as` an update; return DynamoDB's reply to it."""
        try:
            self.update_item(author, asked)
        except ClientError as refused:
            code = "DuplicateItem" if asked["Inserts"] else "ConditionalCheckFailed"
            item = {"Item": refused.response["Item"]} if "Item" in refused.response else {}  # type: ignore[typeddict-item] # as it is
            return {"Error": {"Code": code, "Message": code, **item}}
        return {"TableName": asked["TableName"]}

    def _require(self, asked: Mapping[str, Any], old: Item | None, operation: str) -> None:
        if not self._holds(asked, old):
            back = {"Item": dict(old)} if old is not None and asked.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD" else {}
            raise error(REFUSED, operation, "The conditional request failed", **back)

    def _holds(self, asked: Mapping[str, Any], old: Item | None) -> bool:
        text = asked.get("ConditionExpression")
        if not text:
            return True
        try:
            check = expressions.condition(text, asked.get("ExpressionAttributeNames") or _NONE)
            return check(old or _NONE, asked.get("ExpressionAttributeValues") or _NONE)
        except Invalid as wrong:
            raise error("ValidationException", "UpdateItem", str(wrong)) from None


def written_as(statement: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a statement as the update that it is, and whether it inserts."""
    names = tuple(f":p{number}" for number in range(len(statement.get("Parameters", ()))))
    try:
        found = statements.meaning(statement["Statement"], names)
    except Invalid as wrong:
        raise error("ValidationException", "BatchExecuteStatement", str(wrong)) from None
    values = dict(zip(names, statement.get("Parameters", ()), strict=True))
    back = {} if found.inserts else {name: statement[name] for name in (_ALL_OLD,) if name in statement}
    return {
        **found.write.parameters, "TableName": found.table, "Key": {"pk": values[found.key]}, "ExpressionAttributeValues": values,
        _ALL_OLD: "NONE", **back, "Inserts": found.inserts,
    }  # fmt: skip


def as_seen(database: Database, broken: Callable[[str], None]) -> Callable[..., dict[str, Any]]:
    """Return what carries calls out on *database*, and calls *broken* when one replaces another item than the one that its writer saw.

    What a writer saw it says itself, by the nonce `:seen`: that the condition compares it is what is judged.
    """

    def carry_out(operation: str, author: Any, asked: Mapping[str, Any]) -> dict[str, Any]:
        seen = asked.get("ExpressionAttributeValues", _NONE).get(":seen") if operation == "UpdateItem" else None
        old = database.table(asked["TableName"]).get(asked["Key"]["pk"]["S"]) if seen is not None else None
        answer = database.call(operation, author, asked)
        if seen is not None and (old or _NONE).get("nc") != seen:
            broken(f"{author[1]} replaced {(old or _NONE).get('nc')} where it had seen {seen}")
        return answer

    return carry_out


def _updated(asked: Mapping[str, Any], old: Item | None, key: str) -> Item:
    text = asked.get("UpdateExpression")
    item: Mapping[str, Value] = old if old is not None else {"pk": {"S": key}}
    if not text:
        return dict(item)
    try:
        change = expressions.update(text, asked.get("ExpressionAttributeNames") or _NONE)
        return change(item, asked.get("ExpressionAttributeValues") or _NONE)
    except Invalid as wrong:
        raise error("ValidationException", "UpdateItem", str(wrong)) from None


def _returned(what: str, old: Item | None, new: Item | None) -> dict[str, Any]:
    if what == "ALL_NEW" and new is not None:
        return {"Attributes": dict(new)}
    if what == "ALL_OLD" and old is not None:
        return {"Attributes": dict(old)}
    if what == "UPDATED_NEW" and new is not None:
        return {"Attributes": {name: value for name, value in new.items() if (old or {}).get(name) != value}}
    return {}


_OPERATIONS: Mapping[str, Callable[..., dict[str, Any]]] = {
    "UpdateItem": Database.update_item,
    "PutItem": Database.put_item,
    "DeleteItem": Database.delete_item,
    "GetItem": Database.get_item,
    "BatchGetItem": Database.batch_get_item,
    "Query": Database.query,
    "Scan": Database.scan,
    "TransactWriteItems": Database.transact_write_items,
    "BatchExecuteStatement": Database.batch_execute_statement,
}
