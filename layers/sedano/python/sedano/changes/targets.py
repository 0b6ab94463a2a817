"""The targets of changes, found by the name that a person gives: queues, tasks, tenants, circuits, ids and schedules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from sedano.app import Sedano
from sedano.errors import UnknownTask, UsageError
from sedano.model import pauses
from sedano.model.pauses import CIRCUIT, ID, QUEUE, TASK, TENANT
from sedano.ports import command_queue

SCHEDULE = "schedule"
MOST_NAMES = 5
"""The most names that an error lists."""


def found(app: Sedano, name: str, kind: str | None, *, to_resume: bool = False) -> tuple[str, str]:
    """Return the kind and the full name of the target that *name* names.

    Raises:
        UsageError: several targets have that name.
        UnknownTask: nothing has that name.
    """
    if kind in (TENANT, ID):
        return kind, name
    known = _known(app)
    ends = [one for one in known[TASK] if one.endswith(f".{name}")]
    if kind in (None, TASK) and len(ends) == 1 and not any(name in names for names in known.values()):
        return TASK, ends[0]
    kinds = [one for one, names in known.items() if name in names and kind in (None, one)]
    if kinds == [TASK, CIRCUIT]:  # a circuit has its task's name unless the code gives it another one
        kinds = [CIRCUIT] if to_resume and not is_paused(app, TASK, name) else [TASK]
    if len(kinds) == 1:
        return kinds[0], name
    if kinds:
        raise UsageError(f"{name} is the name of a {' and of a '.join(kinds)}; add --kind")
    asked = known.values() if kind is None else [known.get(kind, ())]
    meant = sorted({*filter(None, (one for names in asked for one in names))})
    raise UnknownTask(f"{name}: the app has no {kind or 'queue, task, circuit or schedule'} of this name; {_instead(name, kind, meant)}")


def is_paused(app: Sedano, kind: str, name: str) -> bool:
    """Return whether it is paused; an open shared circuit counts as paused, because `sedano resume` closes it."""
    if kind == SCHEDULE:
        return any(one.paused for one in app.schedules.list() if one.name == name)
    if kind == CIRCUIT and any(one.open for one in app.control.inspect().circuits() if one.name == name):
        return True
    return any((one.kind, one.name) == (kind, name) for one in map(pauses.parsed, app.control.inspect().paused()) if one is not None)


def load(app: Sedano, kind: str, name: str) -> tuple[int, str]:
    """Return how many messages of a queue wait, and its load in words; for another *kind* 0 and an empty text."""
    if kind != QUEUE:
        return 0, ""
    there = app.outlet.ports.consumers.load(command_queue(name))
    return there.waiting, f" ({there.waiting} wait, {there.running} run)"


def _instead(name: str, kind: str | None, meant: Sequence[str]) -> str:
    """Return what to write instead of *name*, which is not among the valid names *meant*."""
    last = {one.rpartition(".")[2]: one for one in meant}
    near = get_close_matches(name, meant, n=1) or [last[one] for one in get_close_matches(name, last, n=1)]
    if near:
        return f"did you mean {near[0]}?"
    if kind is None:
        return "for a tenant or the id of a task add --kind tenant or --kind id"
    return f"it has {', '.join(meant[:MOST_NAMES])}{', …' if len(meant) > MOST_NAMES else ''}" if meant else f"it declares no {kind}"


def _known(app: Sedano) -> Mapping[str, Sequence[str]]:
    tasks = app.registry.tasks
    schedules = [one.name for one in app.schedules.list()]
    circuits = [spec.circuit.name for spec in tasks.values() if spec.circuit is not None]
    return {QUEUE: app.queues, TASK: [one for one in tasks if not one.startswith("sedano.")], CIRCUIT: circuits, SCHEDULE: schedules}
