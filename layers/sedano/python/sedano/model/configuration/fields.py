"""The fields of an application's configuration: the fields of a frozen dataclass and of the frozen dataclasses in it, by their paths. Pure.

    @dataclass(frozen=True)
    class Mail:
        sender: str
        pool: int = field(default=10, metadata=COLD)
        password: str = field(default="", repr=False)

A field with ``repr=False`` is a secret. A field with `COLD` in its metadata changes only while no body runs; other fields change between
two bodies.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from sedano.errors import OptionError
from sedano.model.configuration.casts import described, fits

COLD: Final[Mapping[str, bool]] = MappingProxyType({"sedano.cold": True})
"""The metadata of a field that changes only while no body runs: ``field(default=10, metadata=COLD)``."""
REQUIRED: Final = dataclasses.MISSING
"""The default of a field without a default."""
_COLD_KEY = next(iter(COLD))


class ConfigField(NamedTuple):
    """One field: its *path* (``mail.sender``), its *type*, its *default* (may be `REQUIRED`), and whether it is *secret* and *cold*."""

    path: str
    type: Any
    default: object
    secret: bool = False
    cold: bool = False


def fields_of(cls: Any) -> dict[str, ConfigField]:
    """Return the fields of the frozen dataclass *cls* by their paths, in order; a nested dataclass is replaced by its fields.

    Raises:
        OptionError: *cls* is not a frozen dataclass, or a layer cannot set one of its fields; the message names the field.
    """
    return {one.path: one for one in _fields(ConfigField("", cls, REQUIRED), ())}


def built(cls: Any, values: Mapping[str, object], prefix: str = "") -> Any:
    """Return an instance of *cls* with the *values* of all fields, by their paths."""
    hints = typing.get_type_hints(cls)
    own = {
        one.name: built(hints[one.name], values, f"{prefix}{one.name}.") if _is_nested(hints[one.name]) else values[f"{prefix}{one.name}"]
        for one in dataclasses.fields(cls)
    }
    return cls(**own)


def value_of(configuration: Any, path: str) -> Any:
    """Return the value of the field *path* of an instance."""
    found = configuration
    for name in path.split("."):
        found = getattr(found, name)
    return found


def _is_nested(kind: Any) -> bool:
    return isinstance(kind, type) and dataclasses.is_dataclass(kind)


def _fields(outer: ConfigField, above: tuple[Any, ...]) -> list[ConfigField]:
    """Return the fields of the dataclass that is the type of *outer*; its default gives theirs, and they inherit secret and cold."""
    cls = outer.type
    _must_be_frozen(cls, outer.path)
    try:
        hints = typing.get_type_hints(cls)
    except (NameError, TypeError) as wrong:
        raise OptionError(f"configuration {cls.__name__}: {wrong}; its annotations must be names of its module") from wrong
    found: list[ConfigField] = []
    for one in dataclasses.fields(cls):
        path, kind = f"{outer.path}.{one.name}" if outer.path else one.name, hints[one.name]
        default = _default(one) if outer.default is REQUIRED else getattr(outer.default, one.name)
        secret, cold = outer.secret or not one.repr, outer.cold or bool(one.metadata.get(_COLD_KEY))
        own = ConfigField(path, kind, default, secret, cold)
        if not one.init:
            raise OptionError(f"configuration field {path}: a layer cannot give it a value; remove init=False")
        if _is_nested(kind):
            if kind in above:
                raise OptionError(f"configuration field {path}: {kind.__name__} contains itself")
            found += _fields(own, (*above, cls))
        elif fits(kind):
            found.append(own)
        else:
            raise OptionError(f"configuration field {path}: {described(kind)}")
    return found


def _must_be_frozen(cls: Any, path: str) -> None:
    where = f"configuration field {path}" if path else "configuration"
    if not _is_nested(cls):
        raise OptionError(f"{where}: {cls!r} is not a dataclass; write @dataclass(frozen=True) above a class with annotated fields")
    if not cls.__dataclass_params__.frozen:
        raise OptionError(f"{where}: {cls.__name__} is mutable; write @dataclass(frozen=True)")


def _default(one: dataclasses.Field[Any]) -> object:
    return one.default_factory() if one.default_factory is not REQUIRED else one.default
