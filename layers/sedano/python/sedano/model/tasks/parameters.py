"""The parameters of a task: the check of arguments, and their conversion.

A message is untrusted input, so arguments are checked against the task's annotations before the body runs, and the error names the wrong
argument (``data.args[0]``). `sedano.model.tasks.annotations` describes the values that each annotation accepts and restores.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sedano.errors import ArgumentError
from sedano.model.tasks.annotations import ANYTHING, Kind, Wrong, hints, kind_of


class Parameters:
    """The compiled parameters of one function."""

    __slots__ = ("_exact", "_fast", "_kinds", "_names", "_of", "_rest_args", "_rest_kwargs", "returns", "signature")

    def __init__(self, function: Callable[..., Any], skip: int = 0, of: str = "") -> None:
        """Compile the parameters of *function*, without the first *skip* (a bound ``self``); errors name the task *of*."""
        signature = inspect.signature(function)
        self._of = of or getattr(function, "__qualname__", type(function).__qualname__)
        found = list(signature.parameters.values())[skip:]
        self.signature = signature.replace(parameters=found)
        annotated = hints(function)
        self._kinds = {p.name: kind_of(annotated.get(p.name, Any)) for p in found}
        self.returns: Kind = kind_of(annotated.get("return", Any))
        """The conversion of the function's result."""
        by_position = [p for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        self._names = tuple(p.name for p in by_position)
        self._rest_args = next((p.name for p in found if p.kind is p.VAR_POSITIONAL), None)
        self._rest_kwargs = next((p.name for p in found if p.kind is p.VAR_KEYWORD), None)
        only_positions = len(by_position) == len(found)
        kinds = [self._kinds[n] for n in self._names]
        self._fast = tuple(None if kind.unchecked else kind.types for kind in kinds) if only_positions else None
        self._exact = tuple(next(iter(kind.types)) for kind in kinds if len(kind.types) == 1) if only_positions else None

    @property
    def refusal(self) -> str:
        """Why, by its annotations, a call of the function cannot be sent or its result cannot be recorded; empty if both can."""
        refused = ((name, kind.refusal) for name, kind in self._kinds.items() if kind.refusal)
        return next((f"parameter {name}: {why}" for name, why in refused), "")

    def room(self, args: int, kwargs: Mapping[str, Any]) -> int:
        """Return how many more positional arguments the function accepts with this number of *args* and these *kwargs*; a `*rest` accepts
        any number.
        """
        if self._rest_args is not None:
            return 1_000
        return max(0, sum(name not in kwargs for name in self._names) - args)

    def takes(self, handed: int, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Check that *args* and *kwargs* fit after *handed* values, which are still unknown.

        Raises:
            ArgumentError: one is missing, too many, unknown or of the wrong type; the field names it.
        """
        self._bind([None] * handed + list(args), kwargs)
        self._read_all(args, kwargs, handed)

    def fit(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """Return the arguments in the form for the body.

        Raises:
            ArgumentError: one is missing, too many, unknown or of the wrong type; the field names it.
        """
        fast = self._fast
        if fast is not None and not kwargs and len(args) == len(fast):
            if tuple(map(type, args)) == self._exact:  # each argument has the only type of its parameter
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
