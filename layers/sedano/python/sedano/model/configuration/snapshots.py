"""One version of a configuration: merges, casts and checks the layers as a whole, and compares versions. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, Final, NamedTuple

from sedano.errors import ConfigurationError
from sedano.model.configuration.casts import Unexpected, cast
from sedano.model.configuration.fields import REQUIRED, ConfigField, built, value_of
from sedano.model.configuration.layers import Layer, misspelling, named, written

DEFAULT: Final = "default"
"""The origin of a value that no layer sets."""
HIDDEN: Final = "(secret)"
"""The text of a secret value."""
_LONGEST = 60


class ConfigSnapshot(NamedTuple):
    """One version: an instance of the dataclass as *value*, and the *origins* of its fields by their paths."""

    value: Any
    origins: Mapping[str, str]


class ConfigRow(NamedTuple):
    """One field for display: its *path*, its *value* as text (hidden if secret), its *origin*, and whether it is *cold*."""

    path: str
    value: str
    origin: str
    cold: bool


def merged(cls: Any, fields: Mapping[str, ConfigField], read: Sequence[tuple[Layer, Mapping[str, object]]]) -> ConfigSnapshot:
    """Return the version from the layers: a later one wins, field by field.

    Every value of every layer is checked, even if another layer replaces it.

    Raises:
        ConfigurationError: some values are wrong or missing; the message lists all of them, each with its layer and what to write.
    """
    values: dict[str, object] = {path: one.default for path, one in fields.items()}
    origins, problems = dict.fromkeys(fields, DEFAULT), list[str]()
    for layer, found in read:
        for one in named(layer, found, fields):
            if not one.is_known:
                why = misspelling(layer, one, fields)
                problems += [f"{one.path} ({layer}): no field has this name; {why}"] if why is not None else []
                continue
            try:
                values[one.path], origins[one.path] = cast(one.value, fields[one.path].type), str(layer)
            except Unexpected as expected:
                problems.append(_unfit(fields[one.path], layer, one.value, expected))
    last = read[-1][0] if read else None
    problems += [_missing(path, last) for path, value in values.items() if value is REQUIRED and not _is_named(path, problems)]
    if problems:
        raise invalid(cls, problems)
    try:
        return ConfigSnapshot(built(cls, values), origins)
    except (ValueError, TypeError) as refused:
        raise invalid(cls, [f"its own check raised {type(refused).__name__}: {refused}"]) from refused


def invalid(cls: Any, problems: Sequence[str]) -> ConfigurationError:
    """Return the error that lists *problems* of a configuration of *cls*."""
    return ConfigurationError("\n  ".join([f"configuration {cls.__name__} is refused as a whole:", *problems]))


def changed(fields: Mapping[str, ConfigField], old: Any, new: Any) -> list[str]:
    """Return the paths of the fields in which the instances *old* and *new* differ."""
    return [path for path in fields if value_of(old, path) != value_of(new, path)]


def must_wait(fields: Mapping[str, ConfigField], paths: Sequence[str]) -> bool:
    """Return whether a change of the fields *paths* waits until no body runs."""
    return any(fields[path].cold for path in paths)


def rows(fields: Mapping[str, ConfigField], snapshot: ConfigSnapshot) -> list[ConfigRow]:
    """Return a version for display: a row for each field, without secrets."""
    return [
        ConfigRow(path, HIDDEN if one.secret else str(value_of(snapshot.value, path)), snapshot.origins[path], one.cold)
        for path, one in fields.items()
    ]


def digest(fields: Mapping[str, ConfigField], snapshot: ConfigSnapshot) -> str:
    """Return a short digest of the fields that are not secret; two processes with equal digests have equal values of these fields."""
    shown = [(path, repr(value_of(snapshot.value, path))) for path, one in fields.items() if not one.secret]
    return sha256(repr(shown).encode("utf-8", "surrogatepass")).hexdigest()[:8]


def _unfit(field: ConfigField, layer: Layer, value: object, expected: Unexpected) -> str:
    shown = "its value" if field.secret else _short(repr(value))
    return f"{field.path} ({layer}): {shown} is not valid; expected {expected}; correct {written(layer, field.path)}"


def _missing(path: str, last: Layer | None) -> str:
    where = f"write {written(last, path)}, or " if last is not None else ""
    return f"{path}: no layer sets it, and it has no default; {where}give the field a default"


def _is_named(path: str, problems: Sequence[str]) -> bool:
    return any(one.startswith(f"{path} (") for one in problems)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
