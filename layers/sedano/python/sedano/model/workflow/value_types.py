"""The types of values that travel between steps: checks whether the result of one step fits the parameter of the next.

A result travels as JSON, so the received JSON type counts: a UUID arrives as a string, a tuple as a list. Only a certain mismatch is
reported; an annotation without information (`Any`, a class of the user) fits everything. `int | None` does not fit `int`, because the value
may be None.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

from sedano.model.workflow.definition import Part

NONE = type(None)
_TEXTS = (UUID, datetime, date, Decimal)
_LISTS = (list, tuple, Sequence)
_TABLES = (dict, Mapping)
_WORDS: Mapping[str, Any] = {
    "any": Any, "int": int, "float": float, "str": str, "bool": bool, "list": list, "dict": dict, "None": NONE,
    "UUID": UUID, "datetime": datetime, "date": date, "Decimal": Decimal,
}  # fmt: skip
WORDS = tuple(_WORDS)


class NoSuchPart(ValueError):
    """A value of this type has no such part."""


def from_words(text: str) -> Any:
    """Return the annotation that *text* names: `int`, `list[str]`, `float | None`.

    Raises:
        ValueError: *text* does not name a type.
    """
    alternatives = [word.strip() for word in _split(text)]
    return typing.Union[tuple(_from_word(word) for word in alternatives)]  # noqa: UP007 - the union is computed


def in_words(annotation: Any) -> str:
    """Return the words for *annotation*; a type without words is `any`."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        words = [in_words(a) for a in typing.get_args(annotation)]
        return "any" if "any" in words else " | ".join(words)
    if typing.get_origin(annotation) is list:
        return f"list[{in_words(typing.get_args(annotation)[0])}]"
    return next((word for word, known in _WORDS.items() if known is annotation), "any")


def returned(function: Callable[..., Any]) -> Any:
    """Return the return annotation of *function*; `Any` if it has none or an unknown one."""
    try:
        return typing.get_type_hints(function).get("return", Any)
    except (NameError, TypeError, AttributeError):
        return Any


def taken(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations of *function*'s parameters; `Any` for a parameter without an annotation."""
    try:
        hints = typing.get_type_hints(function)
    except (NameError, TypeError, AttributeError):
        hints = {}
    return {name: hints.get(name, Any) for name in inspect.signature(function).parameters}


def fits(given: Any, wanted: Any) -> bool:
    """Return whether a value of the type *given* may be passed to a parameter of the type *wanted*."""
    return all(any(_fits(one, other) for other in _alternatives(wanted)) for one in _alternatives(given))


def part(annotation: Any, path: Sequence[Part]) -> Any:
    """Return the annotation of the value at *path* in a value of *annotation*.

    Raises:
        NoSuchPart: a value of *annotation* cannot have this part.
    """
    for step in path:
        found = [_part(one, step) for one in _alternatives(annotation) if one is not NONE]
        annotation = found[0] if len(found) == 1 else Any
    return annotation


def item(annotation: Any) -> Any:
    """Return the annotation of the items of a list; raise `NoSuchPart` if it is not a list."""
    found = [_item(one) for one in _alternatives(annotation)]
    return found[0] if len(found) == 1 else Any


def shown(annotation: Any) -> str:
    """Return *annotation* in the form of source code."""
    if typing.get_origin(annotation) is not None:
        return str(annotation).replace("typing.", "")
    return getattr(annotation, "__name__", str(annotation)).replace("NoneType", "None")


def _split(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter == "[") - (letter == "]")
        if letter == "|" and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]


def _from_word(word: str) -> Any:
    if word.startswith("list[") and word.endswith("]"):
        return types.GenericAlias(list, (from_words(word[5:-1]),))
    if word not in _WORDS:
        raise ValueError(f"{word!r} is not a type; known are {', '.join(WORDS)}, list[…], and several joined by |")
    return _WORDS[word]


def _alternatives(annotation: Any) -> tuple[Any, ...]:
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType):
        return tuple(inner for a in typing.get_args(annotation) for inner in _alternatives(a))
    if origin is typing.Annotated:
        return _alternatives(typing.get_args(annotation)[0])
    if origin is typing.Literal:
        return tuple(dict.fromkeys(type(value) for value in typing.get_args(annotation)))
    if annotation is None:
        return (NONE,)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return tuple(dict.fromkeys(type(member.value) for member in annotation))
    return (annotation,)


def _kind(annotation: Any) -> Any:
    """Return the JSON type of values of *annotation*; None if it is unknown."""
    plain = typing.get_origin(annotation) or annotation
    if plain in _LISTS:
        return list
    if plain in _TABLES or typing.is_typeddict(plain):
        return dict
    if plain in _TEXTS:
        return str
    return plain if plain in (int, float, str, bool, NONE) else None


def _fits(given: Any, wanted: Any) -> bool:
    have, need = _kind(given), _kind(wanted)
    if have is None or need is None:
        return True
    if have is not need:
        return have is int and need is float
    if have is list:
        return fits(_item(given), _item(wanted))
    if have is dict:
        return fits(_values(given), _values(wanted))
    return given is wanted or given not in _TEXTS or wanted is str


def _item(annotation: Any) -> Any:
    kind = _kind(annotation)
    if kind not in (list, None):
        raise NoSuchPart(f"expected a list, not {shown(annotation)}")
    arguments = [a for a in typing.get_args(annotation) if a is not ...]
    return arguments[0] if kind is list and len(arguments) == 1 else Any


def _values(annotation: Any) -> Any:
    arguments = typing.get_args(annotation)
    return arguments[1] if len(arguments) == 2 else Any


def _part(annotation: Any, step: Part) -> Any:
    kind = _kind(annotation)
    if kind is list and isinstance(step, int):
        return _item(annotation)
    if kind is dict:
        fields = typing.get_type_hints(annotation) if typing.is_typeddict(annotation) else None
        if fields is not None and step not in fields:
            raise NoSuchPart(f"{shown(annotation)} has no {step!r}; it has {', '.join(fields)}")
        return fields[str(step)] if fields is not None else _values(annotation)
    if kind is not None:
        raise NoSuchPart(f"{shown(annotation)} has no part {step!r}")
    return Any
