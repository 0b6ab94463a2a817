"""Groups in packs: whether the members of a group may share messages, and how many share one (`sedano.model.packs`)."""

from __future__ import annotations

from dataclasses import replace

from sedano.engine.canvas.map_tasks import built_in
from sedano.engine.publisher.publisher import Outlet
from sedano.errors import CanvasError, OptionError, Unserialisable
from sedano.model.canvas.tree import CHOOSE, Chain, Group, TaskNode, Tree
from sedano.model.messages import codec
from sedano.model.messages.attributes import MAX_DATA_DEPTH
from sedano.model.messages.plain_json import dump
from sedano.model.packs import MOST_ARGUMENTS_BYTES, chosen_size, group_id, is_reserved
from sedano.model.tasks.signature import Options, Signature, time_limits_of
from sedano.model.tasks.task_spec import TaskSpec

MOST_DEPTH = MAX_DATA_DEPTH - 3
"""The most nested containers in a call of a pack, which lies in three: its message's data and arguments, and the list of calls."""
INSTEAD = "leave out pack=, or write pack=False"


def packed(outlet: Outlet, made: Tree, task_id: str | None) -> Tree:
    """Return the normal tree *made*, published as *task_id*, with the number of members in each pack of its group.

    Raises:
        OptionError: its group cannot be published in packs.
        CanvasError: a group in packs is not the first step.
    """
    if isinstance(made, Group) and made.pack:
        if task_id is not None and not is_reserved(group_id(task_id, 2)):
            raise OptionError(f"task_id: a group in packs has an id that begins with a UUID, not {task_id!r}; leave it out, or give a UUID")
        return _sized(outlet, made, made)
    if not isinstance(made, Chain) or not any(isinstance(step, Group) and step.pack for step in made.steps):
        return made
    first, *others = made.steps
    if not isinstance(first, Group) or any(isinstance(step, Group) and step.pack for step in others):
        raise CanvasError(f"pack: only a group that is the first step of a chain can be published in packs; {INSTEAD} for the others")
    return replace(made, steps=(_sized(outlet, first, made), *others))


def packs_in(made: Tree) -> int:
    """Return how many members a pack of the first step of *made* holds; 0: it is not a group in packs."""
    first = made.steps[0] if isinstance(made, Chain) else made
    return first.pack if isinstance(first, Group) else 0


def _sized(outlet: Outlet, group: Group, whole: Chain | Group) -> Group:
    nodes = [member for member in group.members if isinstance(member, TaskNode)]
    calls = [node.signature for node in nodes]
    spec = outlet.registry.tasks.get(calls[0].task) or built_in(outlet.registry, calls[0].task) if calls else None
    if spec is None and len(nodes) == len(group.members):
        return replace(group, pack=0)  # no members, or an unknown task, which is refused where it is drafted
    why = "a member is a chain or a group" if len(nodes) < len(group.members) else ""
    if spec is not None and not why:
        why = _callbacks(nodes, group, whole) or _differences(calls) or _needs(spec, outlet)
    sizes = [] if why else [_bytes_of(call) for call in calls]
    if sizes and max(sizes) > MOST_ARGUMENTS_BYTES:
        why = f"a member has {max(sizes)} bytes of arguments of {MOST_ARGUMENTS_BYTES}"
    if why or spec is None:
        raise OptionError(f"pack: {why}, so its members need messages of their own; {INSTEAD}")
    if group.pack != CHOOSE:
        return group
    limits = time_limits_of(calls[0].options, spec.time_limits) or spec.time_limits
    return replace(group, pack=chosen_size(sizes, limits.longest if limits is not None else None))


def _bytes_of(call: Signature) -> int:
    """Return how many bytes the arguments of *call* have.

    Raises:
        OptionError: they are nested so deeply that they fit a message of their own and no pack, in which they lie deeper.
    """
    text = codec.encode_data(call.args, call.kwargs)
    if text.count(b"[") + text.count(b"{") > MOST_DEPTH:
        try:
            dump([list(call.args), dict(call.kwargs)], "arguments", MOST_DEPTH)
        except Unserialisable as deep:
            raise OptionError(f"pack: {deep}, so its members need messages of their own; {INSTEAD}") from None
    return len(text)


def _callbacks(nodes: list[TaskNode], group: Group, whole: Chain | Group) -> str:
    if group.watch or whole.watch or any(node.links or node.errors or node.forks or node.watch for node in nodes):
        return "it has callbacks (link, link_error), or side branches"
    return ""


def _differences(calls: list[Signature]) -> str:
    first = calls[0]
    if any(call.options.task_id is not None for call in calls):
        return "a member has a task_id"
    if any((call.task, call.options, call.immutable) != (first.task, first.options, first.immutable) for call in calls):
        return "its members differ in their task or in their options"
    unfit = Options(dedup_key=first.options.dedup_key, serial_key=first.options.serial_key)
    return "its members have a dedup_key or a serial_key" if unfit != Options() else ""


def _needs(spec: TaskSpec, outlet: Outlet) -> str:
    """Return why each call of *spec* needs a message of its own."""
    found = {
        "it is async": spec.is_async, f"it is delivered {spec.delivery}, and packs are for claimed tasks": spec.delivery != "claimed",
        "it has a serial_key": spec.serial_key, "it has a singleton": spec.singleton, "it has a circuit": spec.circuit,
        "it has a limit (rate, concurrency, debounce, batch)": spec.limits, "it names its tenant by its arguments": spec.tenant,
        "its results are documents": spec.is_document, "it is boxed": spec.name in outlet.registry.boxes,
    }  # fmt: skip
    return next((f"{spec.name}: {why}" for why, needs in found.items() if needs), "")
