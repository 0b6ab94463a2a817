"""The expressions of a user's own writes, as parts of the transaction that begins with RECORD or KEEP (`sedano.aws.expressions.tasks`).

The theory is that of the record: its condition holds only once for a nonce and a fence. So an effect in the same transaction is applied
once without a condition of its own, and a zombie's effects are refused with its record. All names and values are placeholders, so an
attribute may have the name of a reserved word, and no text of a user becomes part of an expression.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sedano.model.effects import ABSENT, TableWrite

_PARTS = {"put": "Put", "update": "Update", "delete": "Delete"}


def part(effect: TableWrite, table: str) -> dict[str, Any]:
    """Return *effect* as an item of a transaction, on the table of DynamoDB with the name or ARN *table*."""
    words = _Words()
    call: dict[str, Any] = {"TableName": table}
    if effect.kind == "put":
        call["Item"] = attributes(effect.item)
    else:
        call["Key"] = attributes(effect.key)
    if effect.kind == "update":
        call["UpdateExpression"] = _update(effect, words)
    if condition := _condition(effect, words):
        call["ConditionExpression"] = condition
    if words.names:
        call["ExpressionAttributeNames"] = words.names
    if words.values:
        call["ExpressionAttributeValues"] = words.values
    return {_PARTS[effect.kind]: call}


def attributes(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return *row* as attributes of DynamoDB."""
    return {name: _attribute(value) for name, value in row.items()}


def row_of(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of *item*; types that no effect writes (fractions, sets, bytes) stay as DynamoDB returns them."""
    return {name: _value(value) for name, value in item.items()}


class _Words:
    """The placeholders of one call."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.values: dict[str, Any] = {}

    def name(self, attribute: str) -> str:
        """Return the placeholder of an attribute."""
        for word, known in self.names.items():
            if known == attribute:
                return word
        word = f"#n{len(self.names)}"
        self.names[word] = attribute
        return word

    def value(self, value: Any) -> str:
        """Return the placeholder of a value."""
        word = f":v{len(self.values)}"
        self.values[word] = _attribute(value)
        return word


def _update(effect: TableWrite, words: _Words) -> str:
    sets = [f"{words.name(name)} = {words.value(value)}" for name, value in effect.sets.items()]
    adds = [f"{words.name(name)} {words.value(value)}" for name, value in effect.adds.items()]
    removes = [words.name(name) for name in effect.removes]
    parts = (("SET", sets), ("ADD", adds), ("REMOVE", removes))
    return " ".join(f"{verb} {', '.join(some)}" for verb, some in parts if some)


def _condition(effect: TableWrite, words: _Words) -> str:
    condition = effect.condition
    if condition is ABSENT:
        return f"attribute_not_exists({words.name(next(iter(effect.key)))})"
    wanted = condition.items() if condition is not None else ()
    parts = [
        f"attribute_not_exists({words.name(name)})" if value is ABSENT else f"{words.name(name)} = {words.value(value)}"
        for name, value in wanted
    ]
    for name in effect.adds:  # it must be a number: a failed condition identifies the effect, an error of the call does not
        word = words.name(name)
        parts.append(f"attribute_not_exists({word}) OR attribute_type({word}, {words.value('N')})")
    return parts[0] if len(parts) == 1 else " AND ".join(f"({one})" if " OR " in one else one for one in parts)


def _attribute(value: Any) -> dict[str, Any]:
    if value is None:
        return {"NULL": True}
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, int | float):  # effects have whole numbers only; a document may have fractions
        return {"N": str(value)}
    if isinstance(value, str):
        return {"S": value}
    if isinstance(value, Mapping):
        return {"M": attributes(value)}
    return {"L": [_attribute(one) for one in value]}


def _value(attribute: Mapping[str, Any]) -> Any:
    ((kind, value),) = attribute.items()
    if kind == "NULL":
        return None
    if kind == "N" and value.lstrip("-").isdecimal():
        return int(value)
    if kind == "M":
        return row_of(value)
    return [_value(one) for one in value] if kind == "L" else value
