"""Publishing a canvas: its messages, and the results that it will have.

A canvas is one message, whatever its size: its pages are written first, and the workers continue from there. So an invalid canvas is not
published at all, a publisher that dies has published all of it or nothing, and a published canvas continues after every crash. The
publications of a running task are stored in the record of its end until they are sent, so the members of a plain group need no launch
there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sedano.canvas.packs import packed, packs_in
from sedano.engine.canvas.launches import LaunchOrigin, drafted
from sedano.engine.canvas.page_cache import Plans
from sedano.engine.drafts import CommandDraft
from sedano.engine.publisher.publisher import Outlet
from sedano.engine.task_context import CURRENT
from sedano.errors import CanvasError, DuplicateTask, SedanoError
from sedano.model.canvas.continuation import begin, branch_id, step_id
from sedano.model.canvas.pages import PageWriter
from sedano.model.canvas.tree import Chain, Fork, Group, TaskNode, Tree, normal
from sedano.model.ledger.records import RESERVATION_S
from sedano.model.messages.lineage import ROOT
from sedano.model.messages.message import COLLECT, LAUNCH, Place
from sedano.model.packs import group_id as id_in_packs
from sedano.model.packs import in_packs, member_id
from sedano.result import AsyncResult, Derived, GroupResult
from sedano.result.publication import publish as publish_task

MOST_OUTBOX = 100
"""A task puts a plain group of at most this many members into its outbox; larger groups are launched, as everywhere else."""
MOST_EAGER = 100
"""The results of a group of more plain tasks are made when they are used."""
Result = AsyncResult[Any] | GroupResult[Any]


def publish(outlet: Outlet, tree: Tree, task_id: str | None) -> Any:
    """Publish *tree* under *task_id*, or a fresh id, and return its result."""
    made = packed(outlet, normal(tree), task_id)
    if isinstance(made, TaskNode) and made == TaskNode(made.signature):
        return publish_task(outlet, made.signature if task_id is None else made.signature.set(task_id=task_id))
    canvas_id = task_id or own_id(made) or outlet.drafting.fresh_id()
    result = answer(outlet, made, canvas_id)
    if isinstance(made, Group) and _is_direct(made):
        nodes = [(n, m) for n, m in enumerate(made.members) if isinstance(m, TaskNode)]
        drafts = [outlet.drafting.draft(m.signature, _member(m, canvas_id, n)) for n, m in nodes]
    else:
        drafts = [begun(outlet, made, canvas_id)]
    if task_id is not None and not isinstance(made, TaskNode):
        _reserve(outlet, canvas_id, max((draft.delay for draft in drafts), default=0))
    outlet.post(drafts)
    if task_id is not None and CURRENT.get() is None and packs_in(made):
        _note(outlet, drafts)
    return result


def _note(outlet: Outlet, drafts: Sequence[CommandDraft]) -> None:
    """Record the launch of a canvas in packs whose id its user chose, so that the id stays taken if the launch waits for long.

    Without packs the launch of a second publication has the same id, and is absorbed; with other packs it has another one.
    """
    ports, now = outlet.ports, outlet.ports.clock.now()
    for draft in drafts:
        try:
            ports.ledger.reserve(draft.command.task_id, ports.entropy.uuid(), now, now + RESERVATION_S + draft.delay)
        except SedanoError as error:  # it is published
            ports.telemetry.log("warning", "a launch is not noted", task_id=draft.command.task_id, error=str(error))


def answer(outlet: Outlet, made: Tree, canvas_id: str) -> Any:
    """Return the result for the publisher of the normal tree *made* as *canvas_id*: of a collected group, its results."""
    result = results(outlet, made, canvas_id)
    last = made.steps[-1] if isinstance(made, Chain) else made
    if not isinstance(last, TaskNode) or last.signature.task != COLLECT:
        return result
    members: GroupResult[Any] = result.parent
    members.beside = [*members.beside, *result.beside]
    return members


def _reserve(outlet: Outlet, canvas_id: str, delay: int) -> None:
    """Reserve the id that the user chose for a canvas until the canvas begins, or for a minute beyond its *delay* (seconds).

    A publisher that dies between this and its message has published nothing, and the id is free again after that minute. Inside a task,
    whose publications are repeated under their ids, nothing is reserved.

    Raises:
        DuplicateTask: a canvas with this id was published in the last minute, or has begun, or has ended and its record is still kept.
    """
    if CURRENT.get() is not None:
        return
    ports, now = outlet.ports, outlet.ports.clock.now()
    first = step_id(canvas_id, 0)
    known = ports.ledger.read([first, member_id(canvas_id, 0), *in_packs(canvas_id), *in_packs(first)])
    if known or ports.ledger.reserve(canvas_id, ports.entropy.uuid(), now, now + RESERVATION_S + delay) is not None:
        raise DuplicateTask(canvas_id)


def begun(outlet: Outlet, made: Tree, canvas_id: str, watch: Sequence[str] = (), extra: str = "") -> CommandDraft:
    """Return the message that begins the normal tree *made*, whose pages are written now; *watch*: what watches it, each an item's text."""
    plans, ports = Plans(outlet.ports.blobs), outlet.ports
    written, name = PageWriter(outlet.drafting.entry, plans.put).page(made, tuple(watch), extra)
    item = plans.load(name)["item"]
    ask = begin(item, Place(canvas_id, "", name), (), plans.load, watched=bool(watch))
    context = CURRENT.get()
    tenant, stamps = (context.tenant, context.command.stamps) if context is not None else (None, None)
    trace = (context.traceparent, context.tracestate) if context is not None else (None, None)
    origin = LaunchOrigin(
        queue=outlet.drafting.first_queue, tenant=tenant, traceparent=trace[0], stamps=stamps, lineage=ROOT, tracestate=trace[1],
    )  # fmt: skip
    draft = drafted(ask, origin, ports.clock.now(), ports.blobs)
    return draft._replace(weight=written.tasks)


def results(
    outlet: Outlet, made: Tree, canvas_id: str, parent: Result | None = None, group: AsyncResult[Any] | str | None = None,
    followed: bool = False, follows: bool = True,
) -> Result:  # fmt: skip
    """Return the result that the normal tree *made* has under *canvas_id*.

    Args:
        outlet: where it is published.
        made: the tree.
        canvas_id: its id.
        parent: the result of what it waits for.
        group: the group that it is a member of: its launch, or its id when it is not launched.
        followed: a step waits for all of it, so it has a join.
        follows: its parent lists it among its children.
    """
    outer = group if isinstance(group, AsyncResult) else None
    if isinstance(made, Group):
        canvas_id = id_in_packs(canvas_id, made.pack)
        direct = parent is None and group is None and not followed and _is_direct(made)
        launch = None if direct else AsyncResult[Any](outlet, canvas_id, parent=parent, follows=False, name=LAUNCH, launch=outer)
        return _group(outlet, made, canvas_id, parent, canvas_id if followed else None, launch)
    if isinstance(made, TaskNode):
        group_id = outer.id if outer is not None else group if isinstance(group, str) else None
        keeps, name = outlet.drafting.keeps(made.signature), made.signature.task
        found = AsyncResult[Any](
            outlet, canvas_id, keeps=keeps, parent=parent, group_id=group_id, name=name, follows=follows and group is None, launch=outer
        )
        for number, tree in enumerate(made.links):
            results(outlet, tree, own_id(tree) or branch_id(canvas_id, "links", number), found)
        forked = [(tree, own_id(tree) or branch_id(canvas_id, "forks", n)) for n, tree in enumerate(made.forks)]
        found.beside = [results(outlet, tree, own, found, follows=False) for tree, own in forked]
        return found
    return _chain(outlet, made, canvas_id, parent, group)


def _group(
    outlet: Outlet, made: Group, canvas_id: str, parent: Result | None, join_id: str | None, launch: AsyncResult[Any] | None
) -> GroupResult[Any]:
    members: Sequence[Any]
    if len(made.members) > MOST_EAGER and all(isinstance(m, TaskNode) and own_id(m) is None for m in made.members):
        names = [m.signature.task for m in made.members if isinstance(m, TaskNode)]
        members = Derived(outlet, canvas_id, len(names), group_id=canvas_id, parent=parent, launch=launch, names=names)
    else:
        members = [results(outlet, m, _member(m, canvas_id, n), parent, launch or canvas_id) for n, m in enumerate(made.members)]
    return GroupResult(members, group_id=canvas_id, parent=parent, join_id=join_id, launch=launch)


def _chain(outlet: Outlet, made: Chain, canvas_id: str, parent: Result | None, group: AsyncResult[Any] | str | None) -> Result:
    last = len(made.steps) - 1
    for number, step in enumerate(made.steps):
        if not isinstance(step, TaskNode | Group):
            raise CanvasError("a chain in its normal shape holds tasks and groups")
        own = own_id(step) if isinstance(step, TaskNode) else None
        if number == last and own is not None and own != canvas_id:
            raise CanvasError(
                f"the last step of a chain has the id of the chain, so it cannot be {own} as well as {canvas_id}; leave out one of the two"
            )
        task_id = canvas_id if number == last else own or step_id(canvas_id, number)
        parent = results(outlet, step, task_id, parent, group if number == last or number == 0 else None, number < last)
    if parent is None:
        raise CanvasError("a chain has at least one step")
    return parent


def _member(member: Tree, group_id: str, number: int) -> str:
    return own_id(member) or member_id(group_id, number)


def own_id(tree: Tree | Fork) -> str | None:
    """Return the id that the user chose for a task, or for the last step of a chain, which is the id of the whole; None: none."""
    last = tree.steps[-1] if isinstance(tree, Chain) else tree
    return last.signature.options.task_id if isinstance(last, TaskNode) else None


def _is_direct(made: Group) -> bool:
    """Return whether *made* is a group whose members its publisher sends directly: one, or several that are in its outbox together."""
    if made.pack or made.watch or len(made.members) > (1 if CURRENT.get() is None else MOST_OUTBOX):
        return False
    return all(isinstance(m, TaskNode) and not (m.links or m.errors or m.forks or m.watch) for m in made.members)
