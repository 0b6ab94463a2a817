"""Direct calls: `app.invoke(task, …)` runs one task in the worker function now and returns its value, without a queue.

    total = app.invoke(add, 2, 3)
    total = app.invoke(add.s(2, 3).set(task_id="invoice-17", tenant="acme"), timeout=10)
"""

from __future__ import annotations

from math import isfinite
from typing import Any

from sedano.canvas import Sig
from sedano.engine.publisher.direct_calls import call, refuse_queued
from sedano.engine.publisher.publisher import Outlet
from sedano.errors import CanvasError, OptionError
from sedano.model import states
from sedano.model.canvas.tree import TaskNode
from sedano.model.tasks.signature import Signature
from sedano.ports.absent import has
from sedano.result import AsyncResult
from sedano.result.publication import publish
from sedano.task import Task

PATIENCE_S = 60.0
"""How long a direct call waits by default."""
MOST_PATIENCE_S = 900.0
"""How long it may wait at most: no function runs longer."""


def invoked(outlet: Outlet, task: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the value of *task*, a task or a signature, called directly with *args* and *kwargs*; see `Sedano.invoke`."""
    signature, seconds = _asked(task, args, kwargs)
    refuse_queued(outlet, signature)
    outlet.before_waiting()
    if not has(outlet.ports.direct_calls):
        return publish(outlet, signature).get(timeout=seconds)
    clock = outlet.ports.clock
    until = clock.monotonic() + seconds
    draft, answer = call(outlet, signature, seconds)
    asked = draft.command
    result: AsyncResult[Any] = AsyncResult(outlet, asked.task_id, keeps=not asked.ignore_result, keyed=draft.keyed, name=asked.task)
    if answer.record is not None and answer.record.state in states.TERMINAL:
        return result.reader.value_of(answer.record)
    return result.get(timeout=max(0.0, until - clock.monotonic()))


def _asked(task: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Signature, float]:
    """Return the signature to call, and the seconds to wait."""
    if isinstance(task, Task):
        return Signature(task.name, args, kwargs), PATIENCE_S
    if not isinstance(task, Sig):
        raise OptionError(f"invoke: {task!r} is neither a task nor a signature; write app.invoke(add, 2, 3) or app.invoke(add.s(2, 3))")
    if task.tree != TaskNode(task.spec):
        raise CanvasError("invoke: a direct call runs one task without callbacks; publish a canvas with apply_async")
    if args or kwargs.keys() - {"timeout"}:
        raise OptionError("invoke: a signature has its arguments; write app.invoke(add.s(2, 3), timeout=10)")
    spec = task.spec if task.task_id is None else task.spec.set(task_id=task.task_id)
    return spec, _seconds(kwargs.get("timeout", PATIENCE_S))


def _seconds(given: object) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not isfinite(given) or not 0 < given <= MOST_PATIENCE_S:
        raise OptionError(f"timeout: {given!r} is not a number of seconds above 0, at most {MOST_PATIENCE_S:.0f}")
    return float(given)
