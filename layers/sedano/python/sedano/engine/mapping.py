"""The built-in tasks of `map` and `starmap`: one message that applies a task to each of many items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sedano.engine.registry import Registry, TaskSpec
from sedano.errors import UnknownTask
from sedano.model.messages import MAP, MAP_ASYNC
from sedano.model.parameters import Parameters


def declare(registry: Registry, name: str, is_async: bool) -> None:
    """Declare the built-in task *name* (`MAP` or `MAP_ASYNC`) where it is not declared yet."""
    if name not in registry.tasks:
        function = _mapping_async(registry) if is_async else _mapping(registry)
        registry.tasks[name] = TaskSpec(name, function, Parameters(function), is_async)


def declare_for(registry: Registry, spec: TaskSpec) -> None:
    """Declare what maps *spec*: its own kind of function, so that a program without async tasks loads no event loop."""
    declare(registry, MAP_ASYNC if spec.is_async else MAP, spec.is_async)


def _mapping(registry: Registry) -> Callable[..., list[Any]]:
    def apply_to_each(task: str, items: list[Any], star: bool = False) -> list[Any]:
        spec = _spec(registry, task)
        return [spec.function(*args, **kwargs) for args, kwargs in _fitted(spec, items, star)]

    return apply_to_each


def _mapping_async(registry: Registry) -> Callable[..., Any]:
    async def apply_to_each(task: str, items: list[Any], star: bool = False) -> list[Any]:
        spec = _spec(registry, task)
        return [await spec.function(*args, **kwargs) for args, kwargs in _fitted(spec, items, star)]

    return apply_to_each


def _spec(registry: Registry, task: str) -> TaskSpec:
    found = registry.tasks.get(task)
    if found is None:
        raise UnknownTask(f"no task {task!r} in this deployment to map")
    return found


def _fitted(spec: TaskSpec, items: Sequence[Any], star: bool) -> list[Any]:
    """Return the arguments of each call; all are looked at before the first call is made."""
    return [spec.parameters.fit(list(item) if star else (item,), {}) for item in items]
