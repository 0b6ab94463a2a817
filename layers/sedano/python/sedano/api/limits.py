"""The options `rate=`, `concurrency=`, `debounce=` and similar; loaded only by apps that use one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any, cast

from sedano.api.call_keys import key_of
from sedano.api.declaration import COUNTED
from sedano.engine.registry import Registry
from sedano.errors import OptionError
from sedano.model import collection as holding
from sedano.model.collection import RUNS
from sedano.model.limits import rate as rates
from sedano.model.limits.rate import Paces
from sedano.model.limits.task_limits import TaskLimits, concurrency
from sedano.model.priority import NAMED, Strategy
from sedano.model.queues import band_of
from sedano.model.tasks.parameters import Parameters
from sedano.model.tasks.task_spec import TaskSpec

MOST_QUIET_S = 86_400.0
MOST_BASKET_S = 600.0
_SPAN = re.compile(r"([0-9]+(?:\.[0-9]+)?)(s|m|h)?")
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3_600.0, None: 1.0}


def limited(spec: TaskSpec, options: Mapping[str, Any], registry: Registry, queues: Sequence[str]) -> TaskSpec:
    """Return *spec* with these options; a batched task needs a second task, which is added to *registry*.

    Raises:
        OptionError: an option has no meaning, or cannot be honoured.
    """
    if "serial_key" in options:
        from sedano.api.order import in_order

        spec = in_order(spec, options)
    if "priority" in options:
        spec = spec._replace(queue=band_of(spec.queue, options["priority"], queues), band=options["priority"])
    if "tenant" in options:
        spec = spec._replace(tenant=key_of("tenant", options["tenant"], spec.parameters))
    counted = [name for name in COUNTED if name in options]
    _check(spec, options, counted)
    if not counted:
        return spec
    limits = _limits(spec, options)
    if limits.batch is None:
        return spec._replace(limits=limits)
    return _batched(spec, limits, registry)


def paces_of(options: Mapping[str, Any]) -> Paces:
    """Return the paces of ``rate`` and ``burst``."""
    return rates.paces(options["rate"], options.get("burst", 1)) if "rate" in options else ()


def seconds_of(name: str, span: object, most: float) -> float:
    """Return *span* (a number of seconds, or such as ``"30s"``, ``"5m"``) in seconds; raise `OptionError` if it is not a time up to
    *most*."""
    found = _SPAN.fullmatch(span) if isinstance(span, str) else None
    seconds = float(found[1]) * _SECONDS[found[2]] if found is not None else span
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not isfinite(seconds) or not 0 < seconds <= most:
        raise OptionError(f"{name}: {span!r} is not a time above 0 and up to {most:.0f} s; write '30s', '5m', or a number of seconds")
    return float(seconds)


def preference(strategy: object) -> Strategy:
    """Return *strategy* as one that orders a batch; raise `OptionError` if it is not a strategy."""
    if not callable(strategy) and strategy not in NAMED:
        raise OptionError(f"prefer: {strategy!r} is not one of {', '.join(NAMED)}, nor a function of a Candidate")
    return cast("Strategy", strategy)


def _check(spec: TaskSpec, options: Mapping[str, Any], counted: Sequence[str]) -> None:
    """Refuse options that have no effect without another option, or contradict one."""
    for name, needs in (
        ("burst", ("rate",)),
        ("per", ("rate",)),
        ("concurrency_key", ("concurrency",)),
        ("key", ("rate", "debounce", "batch")),
    ):
        if name in options and not any(one in options for one in needs):
            raise OptionError(f"{name}: has no effect without {' or '.join(f'{one}=' for one in needs)}")
    if "per" in options and options["per"] != "worker":
        raise OptionError(f"per: {options['per']!r}; give per='worker', or leave it out for one limit of all workers together")
    if counted and spec.delivery != "claimed":
        raise OptionError(
            f"{counted[0]}: a task with delivery={spec.delivery!r} may run twice for one slot; only a claimed task can be limited"
        )
    if "batch" in options and len(counted) > 1:
        raise OptionError(f"batch: cannot be combined with {counted[0]}=, because the calls of a batch wait only for each other")
    if "concurrency" in options and spec.singleton is not None:
        raise OptionError("concurrency: a singleton already runs one at a time; give one of the two")


def _limits(spec: TaskSpec, options: Mapping[str, Any]) -> TaskLimits:
    keys = {name: key_of(name, options[name], spec.parameters) for name in ("key", "concurrency_key") if name in options}
    return TaskLimits(
        paces=paces_of(options), key=keys.get("key"), per_worker="per" in options,
        concurrency=concurrency(options["concurrency"]) if "concurrency" in options else None,
        concurrency_key=keys.get("concurrency_key"),
        debounce=seconds_of("debounce", options["debounce"], MOST_QUIET_S) if "debounce" in options else 0.0,
        batch=_basket(options["batch"]) if "batch" in options else None,
    )  # fmt: skip


def _basket(batch: object) -> tuple[int, float]:
    if not isinstance(batch, tuple | list) or len(batch) != 2:
        raise OptionError(f"batch: {batch!r} is not a pair: the most calls and for how long they are collected, (100, '5s')")
    most, span = batch
    if not isinstance(most, int) or isinstance(most, bool) or not 2 <= most <= holding.MOST_CALLS:
        raise OptionError(f"batch: {most!r} is not a whole number of calls from 2 to {holding.MOST_CALLS}")
    return most, seconds_of("batch", span, MOST_BASKET_S)


def _batched(spec: TaskSpec, limits: TaskLimits, registry: Registry) -> TaskSpec:
    """Return the task to which calls are published; the function runs as another task, which gets them as a list."""
    run = _running_async(spec.function) if spec.is_async else _running(spec.function)
    name = spec.name + RUNS
    takes = Parameters(run, of=name)
    registry.tasks[name] = spec._replace(name=name, function=run, parameters=takes, limits=TaskLimits(runs=True), tenant=None)
    return spec._replace(parameters=Parameters(_anything), limits=limits, ignore_result=True)


def _anything(*args: Any, **kwargs: Any) -> None:
    """Accept any arguments, for calls of a batched task."""


def _running(function: Callable[..., Any]) -> Callable[[list[str]], Any]:
    def run(calls: list[str]) -> Any:
        return function(holding.calls_of([json.loads(call) for call in calls]))

    return run


def _running_async(function: Callable[..., Any]) -> Callable[[list[str]], Any]:
    async def run(calls: list[str]) -> Any:
        return await function(holding.calls_of([json.loads(call) for call in calls]))

    return run
