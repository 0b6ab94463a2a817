"""The built-in tasks of `map` and `starmap`: one message that applies a task to each of many items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from sedano.engine.registry import Registry, TaskSpec
from sedano.engine.sections import retry
from sedano.errors import UnknownTask
from sedano.model.messages import MAP, MAP_ASYNC
from sedano.model.parameters import Parameters


def built_in(registry: Registry, name: str) -> TaskSpec | None:
    """Return the built-in task *name*, declared in *registry* when it is asked for first; None when it is none of these.

    Async tasks are mapped by an async one, so that a program without async tasks loads no event loop.
    """
    if name not in (MAP, MAP_ASYNC):
        return None
    if name not in registry.tasks:
        function = _mapping_async(registry) if name == MAP_ASYNC else _mapping(registry)
        registry.tasks[name] = TaskSpec(name, function, Parameters(function), name == MAP_ASYNC)
    return registry.tasks[name]


def _mapping(registry: Registry) -> Callable[..., list[Any]]:
    def apply_to_each(task: str, items: list[Any], star: bool = False) -> list[Any]:
        spec = _spec(registry, task)
        with _tried(spec):
            return [spec.function(*args, **kwargs) for args, kwargs in _fitted(spec, items, star)]

    return apply_to_each


def _mapping_async(registry: Registry) -> Callable[..., Any]:
    async def apply_to_each(task: str, items: list[Any], star: bool = False) -> list[Any]:
        spec = _spec(registry, task)
        with _tried(spec):
            return [await spec.function(*args, **kwargs) for args, kwargs in _fitted(spec, items, star)]

    return apply_to_each


def _spec(registry: Registry, task: str) -> TaskSpec:
    found = registry.tasks.get(task)
    if found is None:
        raise UnknownTask(f"no task {task!r} in this deployment to map")
    return found


def _tried(spec: TaskSpec) -> AbstractContextManager[None]:
    """Return the section in which the calls are made: when one fails, all are tried again as the task itself would be."""
    policy = spec.retry
    return retry(
        policy.max_retries, policy.interval_start, policy.interval_step, policy.interval_max, policy.backoff, policy.jitter
    )


def _fitted(spec: TaskSpec, items: Sequence[Any], star: bool) -> list[Any]:
    """Return the arguments of each call; all are looked at before the first call is made."""
    return [spec.parameters.fit(list(item) if star else (item,), {}) for item in items]
