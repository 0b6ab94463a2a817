"""Checks that JSON text of a value is what botocore makes of it, by botocore's own model of the call.

Most values are sent and returned as they are: texts, whole numbers, truth values, and structures, maps and lists of them. Anything else
(bytes, dates, fractions, None, a name that the model does not have) needs botocore's serializer or parser.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Fits = Callable[[Any], bool]


def checker(shape: Any, known: dict[str, Fits] | None = None) -> Fits:
    """Return a check whether a value of *shape* (of a botocore model) has the JSON text that botocore's serializer makes.

    *known*: the checkers made so far, by the names of their shapes; shapes may contain themselves.
    """
    known = {} if known is None else known
    if shape.name in known:
        return known[shape.name]
    match shape.type_name:
        case "structure":
            return _structure(shape, known)
        case "map" if shape.key.type_name == "string":
            return _map(shape, known)
        case "list":
            return _list(shape, known)
        case "string":
            return _is_text
        case "integer" | "long":
            return _is_whole
        case "boolean":
            return _is_truth
    return _never


def _structure(shape: Any, known: dict[str, Fits]) -> Fits:
    members: dict[str, Fits] = {}

    def fits(value: Any) -> bool:
        if type(value) is not dict:
            return False
        for name, one in value.items():
            check = members.get(name)
            if check is None or not check(one):
                return False
        return True

    if shape.is_document_type or getattr(shape, "is_tagged_union", False):
        return _never
    known[shape.name] = fits
    for name, member in shape.members.items():
        members[name] = checker(member, known) if _is_plain(member, name) else _never
    return fits


def _is_plain(member: Any, name: str) -> bool:
    """Return whether the member has its own name in JSON; `flattened` concerns other protocols."""
    return set(member.serialization) <= {"name", "flattened"} and member.serialization.get("name", name) == name


def _map(shape: Any, known: dict[str, Fits]) -> Fits:
    holder: list[Fits] = []

    def fits(value: Any) -> bool:
        if type(value) is not dict:
            return False
        check = holder[0]
        return all(map(check, value.values())) and all(isinstance(name, str) for name in value)

    known[shape.name] = fits
    holder.append(checker(shape.value, known))
    return fits


def _list(shape: Any, known: dict[str, Fits]) -> Fits:
    holder: list[Fits] = []

    def fits(value: Any) -> bool:
        if type(value) is not list and type(value) is not tuple:
            return False
        return all(map(holder[0], value))

    known[shape.name] = fits
    holder.append(checker(shape.member, known))
    return fits


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_truth(value: Any) -> bool:
    return isinstance(value, bool)


def _never(_: Any) -> bool:
    return False
