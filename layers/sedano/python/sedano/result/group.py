"""The results of a group: its members in order, an id together, and what they wait for. Celery's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from sedano.result import later
from sedano.result.many import ResultSet
from sedano.result.shape import before
from sedano.result.single import AsyncResult
from sedano.result.waiting import Reads


class Published(Protocol):
    """What restoring needs of an app."""

    @property
    def outlet(self) -> Reads:
        """The way out."""


class GroupResult(ResultSet):
    """The results of a group, in order."""

    def __init__(
        self, results: Sequence[Any], *, group_id: str | None = None, parent: Any = None, join_id: str | None = None, follows: bool = True,
        launch: AsyncResult[Any] | None = None,
    ) -> None:  # fmt: skip
        """Hold *results*.

        Args:
            results: of the members, in order.
            group_id: the group's id, by which it can be saved.
            parent: what the members wait for.
            join_id: the join at which the members arrive.
            follows: the parent shall know of it.
            launch: the command that publishes the members, when a worker does that.
        """
        super().__init__(())
        self.results = results
        self.id, self.parent, self.join_id, self.launch = group_id, parent, join_id, launch
        self.followers: list[Any] = []
        self.beside: list[Any] = []
        if parent is not None and follows:
            parent.followers.append(self)

    @property
    def root_id(self) -> str | None:
        """The id of the task that everything began with, as far as this handle knows."""
        return self.parent.root_id if self.parent is not None else self.id

    @property
    def forks(self) -> list[Any]:
        """The results of the side branches of the canvas up to this group, in order: nobody waits for them, unless you do."""
        return [fork for one in [*before(self), self] for fork in one.beside]

    @property
    def children(self) -> Sequence[Any]:
        """The members' results."""
        return self.results

    @property
    def graph(self) -> Any:
        """The tasks that hang together with this group, and which waits for which: `graph.edges`, `graph.to_mermaid()`."""
        return later.graph_of(self)

    def save(self) -> None:
        """Save the group under its id, so that `GroupResult.restore(id, app)` finds it in another process.

        Raises:
            OptionError: it has no id or no results, or another group was saved under its id.
            Unavailable: the ledger or the blob store did not answer; saving again is safe.
        """
        later.save(self)

    @classmethod
    def restore(cls, group_id: str, app: Published) -> GroupResult:
        """Return the group that was saved as *group_id* by a program of *app*.

        Raises:
            NoResult: none was, or it was deleted, or so long ago that it aged out.
        """
        found: GroupResult = later.restore(group_id, app.outlet)
        return found

    def delete(self) -> None:
        """Forget that the group was saved; the results of its members stay."""
        later.delete(self)
