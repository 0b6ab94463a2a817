"""The results of the members of a large group, made from one id and a number when they are used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from sedano.model.messages.lineage import derived_id
from sedano.model.packs import member_id
from sedano.result.async_result import AsyncResult
from sedano.result.waits import ResultOutlet


class Derived(Sequence[AsyncResult[Any]]):
    """The results of *size* tasks whose ids are derived from *base*: the n-th has the id of the follow-up at *prefix* n of it."""

    __slots__ = ("_size", "base", "group_id", "launch", "names", "outlet", "parent", "prefix")

    def __init__(
        self, outlet: ResultOutlet, base: str, size: int, prefix: str = "", *, group_id: str | None = None, parent: Any = None,
        launch: AsyncResult[Any] | None = None, names: Sequence[str] = (),
    ) -> None:  # fmt: skip
        """Refer to the tasks; *group_id*, *parent* and *launch* are those of each result.

        Args:
            outlet: where they were published.
            base: what their ids are derived from.
            size: how many there are.
            prefix: precedes the number in the place of the follow-up.
            group_id: the group that each is a member of.
            parent: the result that each waits for.
            launch: the command that publishes them.
            names: the names of the tasks, in order; a single name is that of all tasks; empty where they are unknown.
        """
        self.outlet, self.base, self._size, self.prefix = outlet, base, size, prefix
        self.group_id, self.parent, self.launch = group_id, parent, launch
        self.names = names[:1] if len(set(names)) == 1 else names

    def __len__(self) -> int:
        """Return how many there are."""
        return self._size

    @overload
    def __getitem__(self, at: int) -> AsyncResult[Any]: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[AsyncResult[Any]]: ...

    def __getitem__(self, at: int | slice) -> AsyncResult[Any] | Sequence[AsyncResult[Any]]:
        """Return the result of one, or of some."""
        if isinstance(at, slice):
            return [self[n] for n in range(*at.indices(self._size))]
        number = range(self._size)[at]
        return AsyncResult(
            self.outlet, self.id_of(number), parent=self.parent, group_id=self.group_id, follows=False, launch=self.launch,
            name=self.names[min(number, len(self.names) - 1)] if self.names else "",
        )  # fmt: skip

    def id_of(self, number: int) -> str:
        """Return the id of task *number*."""
        return derived_id(self.base, f"{self.prefix}{number}") if self.prefix else member_id(self.base, number)
