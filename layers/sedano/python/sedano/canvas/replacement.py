"""Changes of a canvas by one of its running tasks: replace the task, or add members to its chord."""

from __future__ import annotations

from json import dumps
from typing import NoReturn

from sedano.canvas.form import Form, Publishes, tree_of
from sedano.canvas.packs import packed
from sedano.canvas.publication import begun, own_id
from sedano.engine.canvas.page_cache import Plans
from sedano.engine.publisher.publisher import Outlet
from sedano.engine.task_context import CURRENT, Replaced, TaskContext
from sedano.errors import CanvasError, HopLimit, SedanoError
from sedano.model.canvas.continuation import ADDED, find
from sedano.model.canvas.pages import resuming
from sedano.model.canvas.tree import normal
from sedano.model.messages.lineage import derived_id
from sedano.model.messages.message import JoinMember
from sedano.model.order import unordered
from sedano.model.retry import MOST_EXECUTIONS, NEVER
from sedano.result import AsyncResult


def replace(form: object, app: Publishes) -> NoReturn:
    """End the running task of *app* and let *form* provide its result: under the task's id, and before the tasks that follow it.

    The task's earlier publications remain. The value of a chord is that of its body, the value of a group a list.

    Raises:
        Replaced: always, to leave the body; do not catch it.
        CanvasError: *form* is not a form.
        HopLimit: the task was attempted and replaced 20 times, attempts before earlier replacements included, or as often as its own
            policy allows.
        OptionError: the task runs in order (``serial_key=``), and its replacement would not do so.
        SedanoError: no task is running here.
    """
    context = _running("replace")
    if not isinstance(form, Form):
        raise CanvasError(f"a task is replaced by a signature (task.s(…)) or a form, not {type(form).__name__}")
    outlet = (form.app or app).outlet
    own_task = outlet.registry.tasks.get(context.command.task)
    if own_task is not None and own_task.serial_key is not None:
        raise unordered("a replacement runs", own_task.queue)
    attempt = context.command.attempt + 1
    most = (NEVER if own_task is None else own_task.retry).most_executions
    if attempt >= most:
        more = "; a task that replaces itself more often has retry=Retry(max_retries=None)" if most < MOST_EXECUTIONS else ""
        raise HopLimit(f"replace: task {context.id} was attempted and replaced {attempt} times; the limit is {most}{more}")
    own = context.command.lineage
    extra = resuming(attempt, context.command.place, own.hops, own.budget)
    instead = packed(outlet, normal(tree_of(form), joined=True), None)
    if own_id(instead) not in (None, context.id):
        raise CanvasError(f"replace: the replacement of task {context.id} has its id, so it cannot be {own_id(instead)}; leave out task_id")
    draft = begun(outlet, instead, context.id, _watching(context, outlet), extra)
    raise Replaced(draft.asking(member=context.command.member))


def add_to_chord(form: object, app: Publishes) -> AsyncResult[object]:
    """Add *form* to the chord that the running task of *app* belongs to, and return its result.

    Its value follows those of the header, in the order in which members were added; the body waits for it.

    Raises:
        CanvasError: the task is not a member of a chord, or not the last step of its member; or *form* is not a form.
        SedanoError: no task is running here.
    """
    context = _running("add_to_chord")
    if not isinstance(form, Form):
        raise CanvasError(f"only a signature (task.s(…)) or a form can be added to a chord, not {type(form).__name__}")
    place, outlet = context.command.place, (form.app or app).outlet
    if context.command.member is None:
        raise CanvasError(f"task {context.id} is not a member of a chord, so there is nothing to add to")
    if place is not None and find(place, Plans(outlet.ports.blobs).load).next is not None:
        raise CanvasError(f"task {context.id} is not the last step of its member of the chord; add to the chord in that last step")
    join_id, number = derived_id(context.id, ADDED), len(context.added)
    more = packed(outlet, normal(tree_of(form), joined=True), None)
    task_id = own_id(more) or derived_id(join_id, number)
    draft = begun(outlet, more, task_id, _watching(context, outlet))
    context.added.append(draft.asking(member=JoinMember(join_id, number, number + 1)))
    return AsyncResult(outlet, task_id)


def _watching(context: TaskContext, outlet: Outlet) -> list[str]:
    """Return the error callbacks that the running task inherits from its canvas: they also apply to its replacement."""
    if context.command.place is None:
        return []
    spot = find(context.command.place, Plans(outlet.ports.blobs).load)
    return [dumps(item, separators=(",", ":")) for item in (*spot.item.get("watch", ()), *spot.watch)]


def _running(what: str) -> TaskContext:
    context = CURRENT.get()
    if context is None:
        raise SedanoError(f"no task is running here; use `{what}` in the body of a task")
    return context
