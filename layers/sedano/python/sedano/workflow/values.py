"""Placeholders for results in a workflow's declaration: a result, a part of it, one item of it at a time, a condition on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from sedano.errors import OptionError
from sedano.model.workflow.definition import ITEM, Condition, Ref


class Named(Protocol):
    """The owner of a value: an input or a step."""

    name: str


class When:
    """A condition on a result; `~` negates it."""

    def __init__(self, value: Placeholder, operator: str = "", right: object = None, negated: bool = False) -> None:
        """Compare *value* with *right*, or test whether it is true (no operator)."""
        if isinstance(right, Placeholder):
            raise OptionError("a condition compares a result with a value; compare two results in a step of its own")
        self.value, self.operator, self.right, self.negated = value, operator, right, negated

    def condition(self, step: str) -> Condition:
        """Return this condition for the step *step*."""
        return Condition(self.value.ref(step), self.operator, self.right, self.negated)

    def __invert__(self) -> When:
        """Return the opposite."""
        return When(self.value, self.operator, self.right, not self.negated)

    def __bool__(self) -> bool:
        """Refuse to be true or false: no result is known when a workflow is declared."""
        raise OptionError(
            "a condition is evaluated when the workflow runs; write when=(a > 1, ~b) instead of `and` and `not`"
        )


class Placeholder:
    """The value of a step or an input, known when the workflow runs."""

    def __init__(self, owner: Named | None, path: tuple[str | int, ...] = (), maybe: bool = False, item: bool = False) -> None:
        """Refer to the value of *owner* (None: of the step that this compensation belongs to), or to its part at *path*."""
        self.owner, self.path, self.maybe, self.item = owner, path, maybe, item

    def ref(self, step: str) -> Ref:
        """Return this placeholder as a reference for the step *step*."""
        return Ref(ITEM if self.item else self.owner.name if self.owner is not None else step, self.path, self.maybe)

    def __getitem__(self, part: str | int) -> Placeholder:
        """Return a placeholder for the part under a key or at an index."""
        return Placeholder(self.owner, (*self.path, part), self.maybe, self.item)

    @property
    def or_none(self) -> Placeholder:
        """The same value, but None if the step was skipped; otherwise a step that uses a skipped step is skipped too."""
        return Placeholder(self.owner, self.path, True, self.item)

    def is_in(self, values: Sequence[Any]) -> When:
        """Return the condition that it is one of *values*."""
        return self._compared("in", list(values))

    def contains(self, value: Any) -> When:
        """Return the condition that *value* is in it."""
        return self._compared("contains", value)

    def __eq__(self, other: object) -> When:  # type: ignore[override] # a condition, as everywhere where queries are built
        """Return the condition that it equals *other*."""
        return self._compared("==", other)

    def __ne__(self, other: object) -> When:  # type: ignore[override] # likewise
        """Return the condition that it differs from *other*."""
        return self._compared("!=", other)

    def __lt__(self, other: Any) -> When:
        """Return the condition that it is below *other*."""
        return self._compared("<", other)

    def __le__(self, other: Any) -> When:
        """Return the condition that it is at most *other*."""
        return self._compared("<=", other)

    def __gt__(self, other: Any) -> When:
        """Return the condition that it is above *other*."""
        return self._compared(">", other)

    def __ge__(self, other: Any) -> When:
        """Return the condition that it is at least *other*."""
        return self._compared(">=", other)

    def __invert__(self) -> When:
        """Return the condition that it is not true."""
        return When(self, negated=True)

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        """Refuse to be true or false: the result is not known when a workflow is declared."""
        raise OptionError("a result is not known when a workflow is declared; write when=… on the step that depends on it")

    def _compared(self, operator: str, other: object) -> When:
        return When(self, operator, other)


class Each(Placeholder):
    """One item of a list at a time: the step that takes it is called once for each."""

    def __init__(self, of: Placeholder) -> None:
        """Refer to an item of *of*."""
        super().__init__(of.owner, item=True)
        self.of = of


def each(values: Placeholder) -> Any:
    """Call the step once for each item of *values*, a list; its result is the list of results, in order (Celery's `map`)."""
    return Each(values)


own = Placeholder(None)
"""In a compensation: the result of the step that it undoes."""
