"""The JSON values that an annotation accepts, and the Python values that it restores.

A task receives values of the types in its annotations, and so does the caller of `.get()`. A message is JSON, so a ``datetime`` travels as
a string, a tuple as an array and a dataclass as an object (written by `sedano.model.messages.plain_json`), and each is restored to the type
of the annotation.

| annotation | restored from |
|---|---|
| ``None``, ``bool``, ``int``, ``float``, ``str`` and their subclasses, ``Literal`` | itself |
| ``datetime``, ``date``, ``UUID``, ``Decimal`` | a string |
| ``Enum`` | the member's value |
| ``list[T]``, ``tuple[T, ...]``, ``tuple[A, B]``, ``Sequence[T]`` | an array, item by item |
| ``dict[str, T]``, ``Mapping[str, T]`` | an object, value by value |
| a dataclass, a ``TypedDict``, a pydantic model | an object, field by field |
| a ``NamedTuple`` | an array, field by field |
| a union | the first of its members that fits; a string remains a string if ``str`` is a member |
| ``Any``, ``object``, no annotation, type variables, protocols | anything, as plain JSON |

Any other class has no JSON form, so its values can be neither sent nor restored: `Kind.refusal` has the reason, and the declaration of a
task with such a parameter or result raises an error. The items of a bare ``list`` or ``dict`` are not checked.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, MutableMapping, MutableSequence, Sequence
from dataclasses import MISSING, fields, is_dataclass
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from enum import Enum
from typing import Any, NamedTuple
from uuid import UUID

Read = Callable[[Any], Any]
_PLAIN: dict[Any, tuple[type, ...]] = {
    int: (int,), str: (str,), bool: (bool,), float: (float, int), type(None): (type(None),), list: (list,), dict: (dict,),
    Sequence: (list, tuple), MutableSequence: (list,), Mapping: (dict,), MutableMapping: (dict,), Collection: (list, tuple, dict),
    Iterable: (list, tuple, dict),
}  # fmt: skip
_TEXT: dict[type, Read] = {
    UUID: UUID, datetime: datetime.fromisoformat, date: date.fromisoformat, Decimal: Decimal,
}  # fmt: skip
_INSTEAD: dict[Any, str] = {
    bytes: "send text, such as base64", bytearray: "send text, such as base64", set: "use a list", frozenset: "use a tuple",
}  # fmt: skip
_ARRAYS = (list, Sequence, MutableSequence, Collection, Iterable)
_OBJECTS = (dict, Mapping, MutableMapping)


class Wrong(ValueError):
    """A value does not fit its annotation."""


class Kind(NamedTuple):
    """The values that one annotation accepts: values of exactly these *types* unchanged, and others through *readers*; *unchecked* accepts
    all.

    *refusal*: why values of this kind cannot be sent; empty if they can.
    """

    label: str
    types: frozenset[type] = frozenset()
    readers: tuple[Read, ...] = ()
    unchecked: bool = False
    refusal: str = ""

    def read(self, value: Any) -> Any:
        """Return *value* in the form for the body; raise `Wrong` if it does not fit."""
        if self.unchecked or type(value) in self.types:
            return value
        why = ""
        for reader in self.readers:
            try:
                return reader(value)
            except Wrong as wrong:
                why = str(wrong)
            except (ValueError, TypeError, InvalidOperation, AttributeError, RecursionError):
                continue
        raise Wrong(f"expected {self.label}: {why}" if why else f"expected {self.label}, got {type(value).__name__}")

    def accepts(self, value: Any) -> bool:
        """Return whether *value* fits."""
        try:
            self.read(value)
        except Wrong:
            return False
        return True

    def restored(self, value: Any) -> Any:
        """Return *value* converted to the annotation, or unchanged if it does not fit: a result is recorded even if it does not fit its
        annotation.
        """
        try:
            return self.read(value)
        except Wrong:
            return value


ANYTHING = Kind("anything", unchecked=True)
Known = dict[Any, "Kind | None"]


def kind_of(annotation: Any) -> Kind:
    """Return the kind of *annotation*."""
    return _kind(annotation, {})


def hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations of *function* by parameter, including ``return``; empty if a name in them cannot be resolved."""
    try:
        return typing.get_type_hints(function)
    except (NameError, TypeError, AttributeError):
        return {}


def _kind(annotation: Any, known: Known) -> Kind:
    annotation = _bare(annotation)
    if annotation is Any:
        return ANYTHING
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return _union([_kind(a, known) for a in arguments])
    if origin is typing.Literal:
        return _literal(arguments)
    if isinstance(origin, type):
        if arguments or (origin is tuple and annotation is not typing.Tuple):  # noqa: UP006 - the name itself
            return _generic(annotation, origin, arguments, known)
        annotation = origin  # a name such as `typing.List` without items
    if annotation in _PLAIN:
        return Kind(_label(annotation), frozenset(_PLAIN[annotation]))
    if annotation is tuple:
        return Kind("tuple", frozenset({tuple}), (_array(tuple, ANYTHING),))
    return _class(annotation, known) if isinstance(annotation, type) else ANYTHING


def _bare(annotation: Any) -> Any:
    """Return *annotation* without `Annotated`, `Required`, new types and aliases."""
    while True:
        origin = typing.get_origin(annotation)
        if origin in (typing.Annotated, typing.Required, typing.NotRequired, typing.Final, typing.ClassVar):
            annotation = typing.get_args(annotation)[0]
        elif hasattr(annotation, "__supertype__"):
            annotation = annotation.__supertype__
        elif hasattr(annotation, "__value__"):
            annotation = annotation.__value__
        else:
            return annotation


def _generic(annotation: Any, origin: type, arguments: tuple[Any, ...], known: Known) -> Kind:
    label = _label(annotation)
    if origin is tuple:
        return _tuple(label, arguments, known)
    if origin in _ARRAYS:
        item = _kind(arguments[0], known)
        if item.unchecked:
            return Kind(label, frozenset(_PLAIN[origin]), refusal=item.refusal)
        return Kind(label, readers=(_array(list, item),), refusal=item.refusal)
    if origin in _OBJECTS:
        key, value = (_kind(a, known) for a in arguments)
        refusal = value.refusal or ("" if key.unchecked or str in key.types or key.readers else "the keys of a JSON object are strings")
        if value.unchecked and not key.readers:
            return Kind(label, frozenset({dict}), refusal=refusal)
        return Kind(label, readers=(_object(key, value),), refusal=refusal)
    return _class(origin, known)


def _tuple(label: str, arguments: tuple[Any, ...], known: Known) -> Kind:
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        item = _kind(arguments[0], known)
        return Kind(label, readers=(_array(tuple, item),), refusal=item.refusal)
    items = [_kind(a, known) for a in arguments]

    def read(value: Any) -> Any:
        _needs(list | tuple, value)
        if len(value) != len(items):
            raise Wrong(f"expected {len(items)} items, got {len(value)}")
        return tuple(_at(f"item {n}", kind, one) for n, (kind, one) in enumerate(zip(items, value, strict=True)))

    return Kind(label, readers=(read,), refusal=next((i.refusal for i in items if i.refusal), ""))


def _class(found: type, known: Known) -> Kind:
    """Return the kind of a class. A recursive class refers to its own kind, which is looked up when a value is read."""
    if found in known:
        return Kind(found.__name__, readers=(lambda value: _made(known, found).read(value),))
    known[found] = None
    known[found] = made = _made_for(found, known)
    return made


def _made(known: Known, found: type) -> Kind:
    kind = known[found]
    return ANYTHING if kind is None else kind


def _made_for(found: type, known: Known) -> Kind:
    if found is object or getattr(found, "_is_protocol", False):
        return ANYTHING
    if issubclass(found, tuple) and hasattr(found, "_fields"):
        return _named(found, known)
    if typing.is_typeddict(found):
        wanted = {name: _kind(hint, known) for name, hint in _hints_of(found).items()}
        needed: frozenset[str] = getattr(found, "__required_keys__", frozenset())
        return Kind(found.__name__, readers=(_fields_of(dict, wanted, needed),), refusal=_first(wanted))
    return _dataclass(found, known) if is_dataclass(found) else _scalar(found)


def _scalar(found: Any) -> Kind:
    """Return the kind of a class whose values are a string or a number, or are read from JSON by the class itself."""
    label, reader = found.__name__, None
    if found in _TEXT:
        reader = _text(_TEXT[found])
    elif issubclass(found, Enum):
        reader = found
    elif hasattr(found, "model_validate"):  # a pydantic model, which reads and checks its own fields
        reader = found.model_validate
    else:
        base = next((plain for plain in (str, int, float, list, dict) if issubclass(found, plain)), None)
        if base is not None:
            reader = _subclass(found, base)
    if reader is None:
        instead = _INSTEAD.get(found, "use a dataclass, a TypedDict or JSON's own types")
        return Kind(label, unchecked=True, refusal=f"{label} has no JSON form; {instead}")
    return Kind(label, frozenset({found}), (reader,))


def _subclass(found: Any, base: type) -> Read:
    return lambda value: found(_needs(base, value))


def _named(found: Any, known: Known) -> Kind:
    wanted = {name: _kind(_hints_of(found).get(name, Any), known) for name in found._fields}

    def read(value: Any) -> Any:
        _needs(list | tuple, value)
        if not len(wanted) - len(found._field_defaults) <= len(value) <= len(wanted):
            raise Wrong(f"expected {len(wanted)} items, got {len(value)}")
        return found(*(_at(name, wanted[name], one) for name, one in zip(wanted, value, strict=False)))

    return Kind(found.__name__, frozenset({found}), (read,), refusal=_first(wanted))


def _dataclass(found: Any, known: Known) -> Kind:
    written = [field for field in fields(found) if field.init]
    wanted = {field.name: _kind(_hints_of(found).get(field.name, Any), known) for field in written}
    needed = frozenset(f.name for f in written if f.default is MISSING and f.default_factory is MISSING)
    derived = frozenset(field.name for field in fields(found) if not field.init)
    return Kind(found.__name__, frozenset({found}), (_fields_of(found, wanted, needed, derived),), refusal=_first(wanted))


def _fields_of(make: Any, wanted: Mapping[str, Kind], needed: frozenset[str], derived: frozenset[str] = frozenset()) -> Read:
    """Return the reader of an object with the fields *wanted*; fields in *needed* are required, and *derived* ones are ignored."""

    def read(value: Any) -> Any:
        _needs(dict, value)
        missing, unknown = sorted(needed - value.keys()), sorted(value.keys() - wanted.keys() - derived)
        if missing or unknown:
            raise Wrong(f"{missing[0]} is missing" if missing else f"{unknown[0]} is unknown")
        return make(**{name: _at(name, wanted[name], one) for name, one in value.items() if name not in derived})

    return read


def _array(make: type, item: Kind) -> Read:
    def read(value: Any) -> Any:
        _needs(list | tuple, value)
        if item.unchecked or set(map(type, value)) <= item.types:
            return value if type(value) is make else make(value)
        return make(_at(f"item {n}", item, one) for n, one in enumerate(value))

    return read


def _object(key: Kind, value: Kind) -> Read:
    def read(given: Any) -> Any:
        _needs(dict, given)
        return {_at("a key", key, name): _at(str(name), value, one) for name, one in given.items()}

    return read


def _at(place: str, kind: Kind, value: Any) -> Any:
    try:
        return kind.read(value)
    except Wrong as wrong:
        raise Wrong(f"{place}: {wrong}") from None


def _needs(wanted: Any, value: Any) -> Any:
    if not isinstance(value, wanted) or isinstance(value, bool):
        raise TypeError
    return value


def _first(wanted: Mapping[str, Kind]) -> str:
    return next((f"{name}: {kind.refusal}" for name, kind in wanted.items() if kind.refusal), "")


def _hints_of(found: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(found, include_extras=True)
    except (NameError, TypeError, AttributeError):
        return dict.fromkeys(getattr(found, "__annotations__", {}), Any)


def _label(annotation: Any) -> str:
    if typing.get_args(annotation):
        return str(annotation).replace("typing.", "").replace("collections.abc.", "").replace("datetime.", "")
    return getattr(annotation, "__name__", None) or str(annotation)


def _union(kinds: Sequence[Kind]) -> Kind:
    return Kind(
        " or ".join(k.label for k in kinds),
        frozenset().union(*(k.types for k in kinds)),
        tuple(r for k in kinds for r in k.readers),
        any(k.unchecked and not k.refusal for k in kinds),
        next((k.refusal for k in kinds if k.refusal), ""),
    )


def _literal(values: tuple[Any, ...]) -> Kind:
    def read(value: Any) -> Any:
        if not any(value == v and type(value) is type(v) for v in values):
            raise TypeError
        return value

    return Kind(f"one of {', '.join(map(repr, values))}", readers=(read,))


def _text(read: Read) -> Read:
    def from_text(value: Any) -> Any:
        return read(_needs(str, value))

    return from_text
