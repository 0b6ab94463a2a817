"""Finds what a service's own model forbids of a call: members, types, lengths, ranges, patterns and enumerations.

botocore itself looks at members, types and minima alone, and at nothing where `parameter_validation` is off, as it is in sedano.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from sedano.testing.strict_aws.limits import Trip


def problems(shape: Any, value: Any, path: str = "") -> Iterator[Trip]:
    """Yield what the model's *shape* forbids of *value*."""
    check = _CHECKS.get(shape.type_name)
    return iter(()) if check is None else check(shape, value, path)


def _wrong_type(value: Any, path: str, wanted: str) -> Iterator[Trip]:
    yield Trip("model.type", f"{path or '.'}: {type(value).__name__} for a {wanted}")


def _structure(shape: Any, value: Any, path: str) -> Iterator[Trip]:
    if not isinstance(value, Mapping):
        yield from _wrong_type(value, path, "structure")
        return
    for name in shape.required_members:
        if name not in value and not shape.members[name].metadata.get("idempotencyToken"):
            yield Trip("model.required", f"{path}.{name} is required")
    for name, inner in value.items():
        if name in shape.members:
            yield from problems(shape.members[name], inner, f"{path}.{name}")
        else:
            yield Trip("model.unknown", f"{path}.{name} is unknown")


def _list(shape: Any, value: Any, path: str) -> Iterator[Trip]:
    if not isinstance(value, list | tuple):
        yield from _wrong_type(value, path, "list")
        return
    yield from _length(shape, len(value), path)
    for number, inner in enumerate(value):
        yield from problems(shape.member, inner, f"{path}[{number}]")


def _map(shape: Any, value: Any, path: str) -> Iterator[Trip]:
    if not isinstance(value, Mapping):
        yield from _wrong_type(value, path, "map")
        return
    yield from _length(shape, len(value), path)
    for name, inner in value.items():
        yield from problems(shape.key, name, f"{path} (key)")
        yield from problems(shape.value, inner, f"{path}.{name}")


def _string(shape: Any, value: Any, path: str) -> Iterator[Trip]:
    if not isinstance(value, str):
        yield from _wrong_type(value, path, "string")
        return
    yield from _length(shape, len(value), path)
    if shape.enum and value not in shape.enum:
        yield Trip("model.enum", f"{path}: {value!r} is none of {', '.join(shape.enum[:8])}")
    pattern = _pattern(shape.metadata.get("pattern", ""))
    if pattern is not None and not pattern.fullmatch(value):
        yield Trip("model.pattern", f"{path}: {value[:60]!r} does not match {pattern.pattern}")


def _blob(shape: Any, value: Any, path: str) -> Iterator[Trip]:
    if isinstance(value, bytes | bytearray | str):
        yield from _length(shape, len(value), path)


def _number(shape: Any, value: Any, path: str) -> Iterator[Trip]:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        yield from _wrong_type(value, path, "number")
        return
    least, most = shape.metadata.get("min", value), shape.metadata.get("max", value)
    if not least <= value <= most:
        yield Trip("model.range", f"{path}: {value} is not within {shape.metadata.get('min')} to {shape.metadata.get('max')}")


def _length(shape: Any, length: int, path: str) -> Iterator[Trip]:
    least, most = shape.metadata.get("min", 0), shape.metadata.get("max", length)
    if not least <= length <= most:
        yield Trip("model.length", f"{path}: the length {length} is not within {least} to {most}")


@functools.cache
def _pattern(text: str) -> re.Pattern[str] | None:
    """Return the pattern, None where the model has none or Python cannot read it."""
    try:
        return re.compile(text) if text else None
    except re.error:
        return None


_CHECKS: dict[str, Callable[[Any, Any, str], Iterator[Trip]]] = {
    "structure": _structure, "list": _list, "map": _map, "string": _string, "blob": _blob,
    "integer": _number, "long": _number, "float": _number, "double": _number,
}  # fmt: skip
