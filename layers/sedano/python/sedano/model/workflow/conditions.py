"""Conditions: a result compared with a value, by a closed list of comparisons; text is never executed."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from sedano.model.workflow.definition import Condition, reference

Comparison = Callable[[Any, Any], Any]
OPERATORS: Mapping[str, Comparison] = MappingProxyType({
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "in": lambda left, right: left in right, "contains": operator.contains,
})  # fmt: skip
_TEXT = re.compile(r"(?P<negated>not\s+)?(?P<left>\$\S+)(?:\s+(?P<operator>==|!=|<=|>=|<|>|in|contains)\s+(?P<right>.+))?")


def condition(given: Any) -> Condition:
    """Return the condition in the form of files, `"$price.total > 100"` or `"not $stock"`, or in the form of `definition.plain`, a table.

    Raises:
        ValueError: it is not a condition; the message says what to write.
    """
    if isinstance(given, Mapping):
        return _of_table(given)
    found = _TEXT.fullmatch(given.strip()) if isinstance(given, str) else None
    if found is None:
        known = ", ".join(OPERATORS)
        raise ValueError(f'{given!r} is not a condition; write "$step", "not $step" or "$step.part > 100" with one of {known}')
    left = reference(found["left"])
    if left is None:
        raise ValueError(f"{given!r} does not compare a result; the left side must be a reference such as $step.part")
    right = _literal(found["right"]) if found["operator"] else None
    return Condition(left, found["operator"] or "", right, found["negated"] is not None)


def holds(asked: Condition, value: Any) -> bool:
    """Return whether *asked* is true for *value*, the value of its reference.

    Raises:
        ValueError: the two cannot be compared.
    """
    try:
        answer = bool(OPERATORS[asked.operator](value, asked.right)) if asked.operator else bool(value)
    except TypeError:
        left, right = type(value).__name__, type(asked.right).__name__
        raise ValueError(f"{asked.left} is of type {left} and cannot be compared by {asked.operator} with {right}") from None
    return answer is not asked.negated


def condition_text(asked: Condition) -> str:
    """Return *asked* in the form of files."""
    text = f"{asked.left} {asked.operator} {json.dumps(asked.right, ensure_ascii=False)}" if asked.operator else str(asked.left)
    return f"not {text}" if asked.negated else text


def _of_table(given: Mapping[str, Any]) -> Condition:
    left = reference(str(given.get("result", "")))
    unknown = sorted(set(given) - {"result", "is", "value", "negated"})
    if left is None or unknown or given.get("is", "") not in ("", *OPERATORS):
        raise ValueError(f'{dict(given)!r} is not a condition; write "$step.part > 100"')
    return Condition(left, str(given.get("is", "")), given.get("value"), bool(given.get("negated", False)))


def _literal(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a value; write a number, true, false, null, a list, or a string in double quotes") from None
