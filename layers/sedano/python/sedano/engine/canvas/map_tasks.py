"""The built-in tasks of `map` and `starmap`: one message that applies a task to each of many items.

Time limits apply to each call: the message carries those of the task, and they restart before each call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from typing import Any

from sedano.engine.batch import Job
from sedano.engine.body_sections import retry
from sedano.engine.registry import Registry
from sedano.engine.task_context import CURRENT
from sedano.errors import OptionError, UnknownTask
from sedano.model.messages import codec
from sedano.model.messages.message import MAP, MAP_ASYNC
from sedano.model.tasks.parameters import Parameters
from sedano.model.tasks.task_spec import TaskSpec, apart
from sedano.ports import Ports


def built_in(registry: Registry, name: str) -> TaskSpec | None:
    """Return the built-in task *name*, declared in *registry* at the first request; None if there is no built-in task of this name.

    Async tasks are mapped by an async one, so that a program without async tasks loads no event loop.
    """
    if name not in (MAP, MAP_ASYNC):
        return None
    if name not in registry.tasks:
        function = _mapping_async(registry) if name == MAP_ASYNC else _mapping(registry)
        registry.tasks[name] = TaskSpec(name, function, Parameters(function), name == MAP_ASYNC, applies=_applied(registry))
    return registry.tasks[name]


def keeps_arguments(job: Job, ports: Ports) -> bool:
    """Return whether the arguments of *job* may be kept if it fails; those of a map, if the mapped task is declared here and keeps its own.

    Raises:
        SedanoError: the arguments of a map are in the blob store, and cannot be read.
    """
    applies, command = job.task.applies, job.command
    if applies is None:
        return job.task.keep_arguments
    ref = command.data_ref
    args, kwargs = (command.args, command.kwargs) if ref is None else codec.decode_data(ports.blobs.get(ref))
    mapped = applies(args, kwargs)
    return mapped is not None and mapped.keep_arguments


def _applied(registry: Registry) -> Callable[[Sequence[Any], Mapping[str, Any]], TaskSpec | None]:
    """Return the function from the arguments of a map to the task that they name."""

    def applies(args: Sequence[Any], kwargs: Mapping[str, Any]) -> TaskSpec | None:
        return registry.tasks.get(str(args[0] if args else kwargs.get("task")))

    return applies


def _mapping(registry: Registry) -> Callable[..., list[Any]]:
    def apply_to_each(task: str, items: list[Any], star: bool = False) -> list[Any]:
        spec, context, values = _spec(registry, task), CURRENT.get(), list[Any]()
        limits = context.limits if context is not None else None
        if spec.time_limits is not None and limits is None:
            raise OptionError(f"{task} has time limits, and its map names none: publish it by {task}.map(…), or give it timelimits")
        with _tried(spec):
            for args, kwargs in _fitted(spec, items, star):
                if limits is not None and values:
                    limits.again()
                values.append(spec.function(*args, **kwargs))
        return values

    return apply_to_each


def _mapping_async(registry: Registry) -> Callable[..., Any]:
    async def apply_to_each(task: str, items: list[Any], star: bool = False) -> list[Any]:
        spec, context = _spec(registry, task), CURRENT.get()
        if spec.time_limits is not None or (context is not None and context.command.time_limits is not None):
            raise OptionError(f"{task} is async, and the calls of an async map have no time limits of their own; publish a group")
        with _tried(spec):
            return [await spec.function(*args, **kwargs) for args, kwargs in _fitted(spec, items, star)]

    return apply_to_each


def _spec(registry: Registry, task: str) -> TaskSpec:
    found = registry.tasks.get(task)
    if found is None:
        raise UnknownTask(f"no task {task!r} in this deployment")
    why = apart(found)
    if why:
        raise OptionError(f"{why}; publish its calls one by one")
    return found


def _tried(spec: TaskSpec) -> AbstractContextManager[None]:
    """Return the section in which the calls are made: if one fails, all are retried as the task itself would be."""
    return retry(**asdict(spec.retry))


def _fitted(spec: TaskSpec, items: Sequence[Any], star: bool) -> list[Any]:
    """Return the arguments of each call; all are checked before the first call is made."""
    return [spec.parameters.fit(list(item) if star else (item,), {}) for item in items]
