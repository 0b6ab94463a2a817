"""`task.map`, `task.starmap` and `task.chunks`: many calls in few messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from sedano.canvas.form import Publishes
from sedano.canvas.primitives import chunks
from sedano.canvas.signature import Sig
from sedano.errors import OptionError
from sedano.model.messages.message import MAP, MAP_ASYNC, TimeLimits
from sedano.model.tasks.signature import Options, Signature
from sedano.model.tasks.task_spec import TaskSpec, apart


def mapped(spec: TaskSpec, app: Publishes, items: Iterable[Any], star: bool) -> Sig[Any]:
    """Return the signature of one message that calls the task of *spec* for each of *items*; *star*: each is a list of arguments.

    It is immutable, as in Celery: the value of the step before it is not passed to it. The task's time limits apply to each call.

    Raises:
        ArgumentError: the arguments of one call do not fit.
        OptionError: each call of the task needs a message of its own (a rate, a concurrency, a singleton, a circuit, an order), or it is
            async and has time limits: the calls share one body, and a limit could not end one call alone.
    """
    why = apart(spec)
    if why:
        raise OptionError(f"{why}; publish its calls one by one, under `with app.batch():` in tens")
    limits = spec.time_limits or TimeLimits()
    if spec.is_async and spec.time_limits is not None:
        raise OptionError(f"{spec.name} is async and has time limits, and a map is one body; publish a group: group(task.s(x) for x in …)")
    every = [list(item) for item in items] if star else list(items)
    for item in every:
        spec.parameters.takes(0, item if star else (item,), {})
    name = MAP_ASYNC if spec.is_async else MAP
    options = Options(
        queue=spec.queue, expires=spec.expires, ignore_result=spec.ignore_result or None, time_limit=limits.hard,
        soft_time_limit=limits.soft,
    )  # fmt: skip
    return Sig(Signature(name, (spec.name, every, *([True] if star else [])), {}, options, immutable=True), app)


def in_chunks(spec: TaskSpec, app: Publishes, items: Iterable[Sequence[Any]], size: object) -> chunks[Any]:
    """Return the group of starmaps over *items*, *size* calls in each.

    Raises:
        OptionError: *size* is not a number above 0, or the task cannot be mapped.
        ArgumentError: the arguments of one call do not fit.
    """
    if not isinstance(size, int) or size < 1:
        raise OptionError(f"n: {size!r} calls in each chunk; give a number above 0")
    left = iter(items)
    return chunks(mapped(spec, app, part, star=True) for part in iter(lambda: list(islice(left, size)), []))
