"""The parameters of a task: do these arguments fit, and what do they become?

A message can come from anyone, so arguments are checked against the task's annotations before the body sees them, and a wrong one is named
(``data.args[0]``). Checked are JSON's own types, unions of them, and the types that travel as text (UUID, datetime, date, Decimal, Enum),
which arrive as themselves. Any other annotation is a promise between humans and is not checked.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from enum import Enum
from typing import Any, NamedTuple
from uuid import UUID

from sedano.errors import ArgumentError

Read = Callable[[Any], Any]
_PLAIN: dict[Any, tuple[type, ...]] = {
    int: (int,), str: (str,), bool: (bool,), float: (float, int), type(None): (type(None),),
    list: (list,), tuple: (list, tuple), dict: (dict,), Sequence: (list, tuple), Mapping: (dict,),
}  # fmt: skip
_TEXT: dict[type, Read] = {
    UUID: UUID, datetime: datetime.fromisoformat, date: date.fromisoformat, Decimal: Decimal,
}  # fmt: skip


class Wrong(ValueError):
    """A value does not fit its annotation."""


class Kind(NamedTuple):
    """What one annotation accepts: values of these exact *types* as they are, others through *readers*; *unchecked* takes all."""

    label: str
    types: frozenset[type] = frozenset()
    readers: tuple[Read, ...] = ()
    unchecked: bool = False

    def read(self, value: Any) -> Any:
        """Return *value* as the body shall see it; raise `Wrong` when it does not fit."""
        if self.unchecked or type(value) in self.types:
            return value
        for reader in self.readers:
            try:
                return reader(value)
            except (ValueError, TypeError, InvalidOperation, AttributeError):
                continue
        raise Wrong(f"expected {self.label}, got {type(value).__name__}")

    def accepts(self, value: Any) -> bool:
        """Tell whether *value* fits."""
        try:
            self.read(value)
        except Wrong:
            return False
        return True


ANYTHING = Kind("anything", unchecked=True)


class Parameters:
    """The compiled parameters of one function."""

    __slots__ = ("_exact", "_fast", "_kinds", "_names", "_of", "_rest_args", "_rest_kwargs", "signature")

    def __init__(self, function: Callable[..., Any], skip: int = 0, of: str = "") -> None:
        """Compile *function*'s parameters, without the first *skip* (a bound ``self``); errors tell whose they are (*of*)."""
        signature = inspect.signature(function)
        self._of = of or getattr(function, "__qualname__", type(function).__qualname__)
        found = list(signature.parameters.values())[skip:]
        self.signature = signature.replace(parameters=found)
        hints = _hints(function)
        self._kinds = {p.name: kind_of(hints.get(p.name, Any)) for p in found}
        by_position = [p for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        self._names = tuple(p.name for p in by_position)
        self._rest_args = next((p.name for p in found if p.kind is p.VAR_POSITIONAL), None)
        self._rest_kwargs = next((p.name for p in found if p.kind is p.VAR_KEYWORD), None)
        only_positions = len(by_position) == len(found)
        kinds = [self._kinds[n] for n in self._names]
        self._fast = tuple(None if kind.unchecked else kind.types for kind in kinds) if only_positions else None
        self._exact = tuple(next(iter(kind.types)) for kind in kinds if len(kind.types) == 1) if only_positions else None

    def room(self, args: int, kwargs: Mapping[str, Any]) -> int:
        """Return how many more positional arguments there is room for beside so many *args* and *kwargs*; a `*rest` takes any number."""
        if self._rest_args is not None:
            return 1_000
        return max(0, sum(name not in kwargs for name in self._names) - args)

    def takes(self, handed: int, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Check that *args* and *kwargs* will fit when so many values, which nobody knows yet, have been put before them.

        Raises:
            ArgumentError: one is missing, too many, unknown or of the wrong type; the field names it.
        """
        self._bind([None] * handed + list(args), kwargs)
        self._read_all(args, kwargs, handed)

    def fit(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """Return the arguments as the body shall see them.

        Raises:
            ArgumentError: one is missing, too many, unknown or of the wrong type; the field names it.
        """
        fast = self._fast
        if fast is not None and not kwargs and len(args) == len(fast):
            if tuple(map(type, args)) == self._exact:  # one type for each parameter, and these are they
                return args, kwargs
            for types_of, value in zip(fast, args, strict=True):
                if types_of is not None and type(value) not in types_of:
                    break
            else:
                return args, kwargs
        return self._slow(args, kwargs)

    def _slow(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        self._bind(args, kwargs)
        return self._read_all(args, kwargs, 0)

    def _bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        try:
            self.signature.bind(*args, **kwargs)
        except TypeError as wrong:
            unknown = [name for name in kwargs if name not in self._kinds] if self._rest_kwargs is None else []
            why = f"got an unexpected keyword argument {unknown[0]!r}" if unknown else wrong
            names = [p.replace(annotation=p.empty) for p in self.signature.parameters.values()]
            raise ArgumentError("data", f"{why}; {self._of} takes {inspect.Signature(names)}") from None

    def _read_all(self, args: Sequence[Any], kwargs: Mapping[str, Any], start: int) -> tuple[list[Any], dict[str, Any]]:
        names = (*self._names[start:], *[self._rest_args] * len(args))
        fitted = [self._read(f"data.args[{i}]", name, value) for i, (name, value) in enumerate(zip(names, args, strict=False))]
        return fitted, {k: self._read(f"data.kwargs.{k}", k if k in self._kinds else self._rest_kwargs, v) for k, v in kwargs.items()}

    def _read(self, field: str, name: str | None, value: Any) -> Any:
        try:
            return self._kinds.get(name or "", ANYTHING).read(value)
        except Wrong as wrong:
            raise ArgumentError(field, f"parameter {name} of {self._of}: {wrong}") from None


def kind_of(annotation: Any) -> Kind:
    """Return what *annotation* accepts."""
    label = getattr(annotation, "__name__", None) or str(annotation)
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType):
        return _union([kind_of(a) for a in typing.get_args(annotation)])
    if origin is typing.Literal:
        return _literal(typing.get_args(annotation))
    if origin in _PLAIN:
        annotation = origin
    if annotation in _PLAIN:
        return Kind(label, frozenset(_PLAIN[annotation]))
    if isinstance(annotation, type) and annotation in _TEXT:
        return Kind(label, frozenset({annotation}), (_text(_TEXT[annotation]),))
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return Kind(label, frozenset({annotation}), (annotation,))
    return ANYTHING


def _union(kinds: Sequence[Kind]) -> Kind:
    return Kind(
        " or ".join(k.label for k in kinds),
        frozenset().union(*(k.types for k in kinds)),
        tuple(r for k in kinds for r in k.readers),
        any(k.unchecked for k in kinds),
    )


def _literal(values: tuple[Any, ...]) -> Kind:
    def read(value: Any) -> Any:
        if not any(value == v and type(value) is type(v) for v in values):
            raise Wrong(f"{value!r} is none of {values}")
        return value

    return Kind(f"one of {', '.join(map(repr, values))}", readers=(read,))


def _text(read: Read) -> Read:
    def from_text(value: Any) -> Any:
        if not isinstance(value, str):
            raise Wrong("not a text")
        return read(value)

    return from_text


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function)
    except (NameError, TypeError, AttributeError):
        return {}
