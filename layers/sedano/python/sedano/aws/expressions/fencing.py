"""The condition that fences a user's own item: the item stores the highest token that wrote it; a write with a lower token is refused.

I2: no accepted write has a token below the highest accepted one. The item's attribute `ftok` is that highest token; an item
without it was never fenced and accepts any token. Equal tokens pass, because one holder writes more than once.

The user's expressions are kept: their condition is put in parentheses, and the token is set in addition to the attributes of their update.
Parentheses that already enclose the whole of a condition are taken off first, because DynamoDB refuses redundant ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sedano.aws.expressions.write import Write

FENCE = Write(condition="attribute_not_exists(ftok) OR ftok <= :ftok", update="SET ftok = :ftok")
"""Write the token if no later holder has written; a new holder does this before it reads."""

GUARD = Write(condition=FENCE.condition)
"""Only the condition, for a user's own write."""

ATTRIBUTE = "ftok"
_SET = re.compile(r"(?<![\w#:])SET\s+", re.IGNORECASE)


def fenced_update(call: Mapping[str, Any], token: int) -> dict[str, Any]:
    """Return the parameters of an UpdateItem *call* with the fence around them."""
    update = call.get("UpdateExpression", "")
    text = _SET.sub(f"{FENCE.update}, ", update) if _SET.search(update) else f"{FENCE.update} {update}".rstrip()
    return {**_conditioned(call, token), "UpdateExpression": text}


def fenced_put(call: Mapping[str, Any], token: int) -> dict[str, Any]:
    """Return the parameters of a PutItem *call* with the fence around them."""
    return {**_conditioned(call, token), "Item": {**call["Item"], ATTRIBUTE: {"N": str(token)}}}


def _conditioned(call: Mapping[str, Any], token: int) -> dict[str, Any]:
    own = call.get("ConditionExpression")
    condition = f"({_bare(own)}) AND ({GUARD.condition})" if own else GUARD.condition
    values = {**call.get("ExpressionAttributeValues", {}), ":ftok": {"N": str(token)}}
    return {**call, **GUARD.parameters, "ConditionExpression": condition, "ExpressionAttributeValues": values}


def _bare(condition: str) -> str:
    """Return *condition* without the parentheses that enclose the whole of it; expressions contain no literals, so every parenthesis
    counts."""
    text = condition.strip()
    while _is_enclosed(text):
        text = text[1:-1].strip()
    return text


def _is_enclosed(text: str) -> bool:
    """Return whether *text* begins with a parenthesis that its last character closes."""
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return 0 < place == len(text) - 1
    return False
