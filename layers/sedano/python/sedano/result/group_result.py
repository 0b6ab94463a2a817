"""The results of a group: its members in order, their common id, and their parents. Celery's names.

A saved group can be found again by another process, another day: it is one record of the ledger for a group of any size. The record has the
ids and the structure of the results, not the values. The record's id is derived from the group's; it is written once, never changed, and it
lives as long as records do (44 days).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from sedano.errors import NoResult, OptionError, SedanoError
from sedano.model import states
from sedano.model.ledger.records import INLINE_BYTES, Outcome
from sedano.model.messages import codec
from sedano.model.messages.lineage import derived_id
from sedano.result import late_imports as later
from sedano.result.async_result import AsyncResult, V_co
from sedano.result.large_groups import Derived
from sedano.result.result_set import ResultSet
from sedano.result.result_tree import before, is_set
from sedano.result.waits import ResultOutlet, must_be_id

SAVED = "sedano.group"
"""The task name in the record of a saved group."""
Node = dict[str, Any]


class RestoringApp(Protocol):
    """The part of an app that restoring needs."""

    @property
    def outlet(self) -> ResultOutlet:
        """The publisher."""


class GroupResult(ResultSet[V_co]):
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
            follows: add it to the children of its parent.
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
        """The id of the first task of the canvas, as far as this handle knows."""
        return self.parent.root_id if self.parent is not None else self.id

    @property
    def forks(self) -> list[Any]:
        """The results of the side branches of the canvas up to this group, in order: no task waits for them; a caller may."""
        return [fork for one in [*before(self), self] for fork in one.beside]

    @property
    def children(self) -> Sequence[Any]:
        """The members' results."""
        return self.results

    @property
    def graph(self) -> Any:
        """The tasks of the same canvas and their dependencies: `graph.edges`, `graph.to_mermaid()`."""
        return later.graph_of(self)

    def save(self) -> None:
        """Save the group under its id, so that `GroupResult.restore(id, app)` finds it in another process.

        Raises:
            OptionError: it has no id or no results, or another group was saved under its id.
            Unavailable: the ledger or the blob store did not answer; saving again is safe.
        """
        _save(self)

    @classmethod
    def restore(cls, group_id: str, app: RestoringApp) -> GroupResult[Any]:
        """Return the group that was saved as *group_id* by a program of *app*.

        Raises:
            NoResult: it was not saved, was deleted, or has expired.
        """
        return _restore(group_id, app.outlet)

    def delete(self) -> None:
        """Delete the saved group; the results of its members stay."""
        if self.id:
            self.outlet.ports.ledger.forget([_saved_id(self.id)])


def _save(group: GroupResult[Any]) -> None:
    if not group.id or not len(group):
        raise OptionError("group: it has no id or no results and cannot be saved; write GroupResult(results, group_id=…)")
    outlet: ResultOutlet = group.outlet
    text = codec.encode_value(_path(group, ()), "group")
    inline = text if len(text) <= INLINE_BYTES else None
    ref = None if inline is not None else outlet.ports.blobs.put(text.encode())
    now, nonce = outlet.ports.clock.now(), outlet.ports.entropy.nonce()
    saved = Outcome(
        task_id=_saved_id(group.id), state=states.SUCCESS, nonce=nonce, fence=0, message_id=group.id, attempt=0,
        clock=int(now * 1_000_000), name=SAVED, at=now, result=inline, result_ref=ref,
    )  # fmt: skip
    (answer,) = outlet.ports.ledger.keep([saved])
    if isinstance(answer, SedanoError):
        raise answer
    found = answer.record
    if not answer.accepted and (found is None or (found.result, found.result_ref) != (inline, ref)):
        raise OptionError(f"group: the id {group.id} belongs to another saved or deleted group; use a new id")


def _restore(group_id: str, outlet: ResultOutlet) -> GroupResult[Any]:
    saved = _saved_id(must_be_id(group_id, "group_id"))
    record = outlet.ports.ledger.read([saved]).get(saved)
    if record is None or record.forgotten:
        raise NoResult(f"no group is saved as {group_id}; save it with result.save() where it was published")
    group = _read(outlet, outlet.gathering.value(record), None, None)
    if not isinstance(group, GroupResult):
        raise NoResult(f"{group_id} is not the id of a saved group; give the id of a GroupResult")
    return group


def _saved_id(group_id: str) -> str:
    return derived_id(group_id, "saved")


def _path(result: Any, known: Sequence[Any]) -> list[Node]:
    """Return *result* after all that it waits for, as plain values, without the *known* earlier results."""
    return [_node(one) for one in (*before(result)[len(known) :], result)]


def _node(one: Any) -> Node:
    if not is_set(one):
        return {"id": one.id, "name": one.name, "root": one.root_id, "keeps": one.keeps}
    head = {"group": one.id, "join": one.join_id, "launch": one.launch.id if one.launch is not None else None}
    if isinstance(one.results, Derived):
        return {**head, "base": one.results.base, "size": len(one.results), "prefix": one.results.prefix}
    return {**head, "of": [_path(member, before(one)) for member in one.results]}


def _read(outlet: ResultOutlet, path: Sequence[Node], parent: Any, group: Node | None) -> Any:
    """Return the result at the end of *path*, which begins after *parent*, as a member of *group*."""
    for number, node in enumerate(path):
        follows = group is None or number > 0
        if "id" in node:
            parent = AsyncResult(
                outlet, node["id"], keeps=node["keeps"], parent=parent, group_id=group["group"] if group is not None else None,
                root_id=node["root"], name=node["name"], follows=follows, launch=_launch(outlet, group, parent),
            )  # fmt: skip
        else:
            members, launch = _members(outlet, node, parent), _launch(outlet, node, parent)
            parent = GroupResult(members, group_id=node["group"], parent=parent, join_id=node["join"], follows=follows, launch=launch)
    return parent


def _members(outlet: ResultOutlet, node: Node, parent: Any) -> Sequence[Any]:
    if "base" in node:
        launch = _launch(outlet, node, parent)
        return Derived(outlet, node["base"], node["size"], node["prefix"], group_id=node["group"], parent=parent, launch=launch)
    return [_read(outlet, path, parent, node) for path in node["of"]]


def _launch(outlet: ResultOutlet, group: Node | None, parent: Any) -> AsyncResult[Any] | None:
    launch = group["launch"] if group is not None else None
    return AsyncResult(outlet, launch, parent=parent, follows=False) if launch else None
