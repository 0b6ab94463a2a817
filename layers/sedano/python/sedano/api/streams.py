"""`@app.stream(…)`: which tasks read which stream."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from sedano.engine.declaration_origins import may_declare
from sedano.engine.registry import Registry
from sedano.errors import ArgumentError, OptionError
from sedano.model.sources.queue_messages import EXAMPLES as MESSAGES
from sedano.model.sources.queue_messages import FORMATS, MESSAGE
from sedano.model.sources.streams import EXAMPLES, OPERATIONS, Record
from sedano.model.sources.webhooks import NAME
from sedano.task import Task


class StreamApp(Protocol):
    """The part of an app that the declaration of a stream needs."""

    registry: Registry

    @property
    def streams(self) -> dict[str, dict[str, tuple[str, ...]]]:
        """For each stream, by its name: the names of the tasks that read it, with the operations that each reads; an empty list means
        all."""

    @property
    def formats(self) -> dict[str, str]:
        """The format of the messages of each stream that names one."""


def check_name(name: object) -> None:
    """Refuse an invalid name of a stream, at once, because `@app.stream` without a name would otherwise not raise.

    Raises:
        OptionError: the name is not valid.
    """
    if not isinstance(name, str) or not re.fullmatch(NAME, name):
        raise OptionError(f"stream: {name!r:.60} is not a valid name; write @app.stream('orders'): a-z, then a-z, 0-9, - and _, at most 40")


def declare(app: StreamApp, name: str, operations: Sequence[str], task: object, reads: object = None) -> None:
    """Subscribe *task* of *app* to the stream *name*; see `Sedano.stream`.

    Raises:
        OptionError: an option cannot be honoured, or *task* cannot be called with a record.
    """
    if not isinstance(task, Task) or app.registry.tasks.get(task.name) is not task.spec:
        who = getattr(task, "name", getattr(task, "__qualname__", repr(task)))
        raise OptionError(f"stream {name}: {who} is not a task of this app; write @app.stream({name!r}) in the line above @app.task")
    if not may_declare(app.registry, f"stream {name} {task.name}", task.name, task.name in app.streams.get(name, {})):
        raise OptionError(f"stream {name}: the task {task.name} already reads it; name all operations in one @app.stream")
    examples = _examples(name, reads)
    wrongs = [wrong for example in examples if (wrong := _misfit(task, example)) is not None]
    if len(wrongs) == len(examples):
        raise OptionError(f"stream {name}: {task.name} is called with one argument, a record, which is a dict: {wrongs[0].detail}")
    wanted = _operations(name, operations)
    _check_format(app, name, wanted, reads)
    app.streams.setdefault(name, {})[task.name] = wanted
    if reads is not None:
        app.formats[name] = str(reads)


def _examples(name: str, reads: object) -> Sequence[Record]:
    """Return a record of each kind that a task on the stream *name* may receive."""
    if reads is None:
        return (*EXAMPLES, MESSAGES[MESSAGE])
    if reads not in FORMATS:
        raise OptionError(f"stream {name}: reads={reads!r:.40} is not a format; give one of {FORMATS}, or leave it out")
    return (MESSAGES[str(reads)],)


def _check_format(app: StreamApp, name: str, operations: Sequence[str], reads: object) -> None:
    if reads is not None and operations:
        raise OptionError(f"stream {name}: only a table has operations, and reads= is the format of a queue's messages; give one of them")
    if name in app.streams and app.formats.get(name) != reads:
        raise OptionError(f"stream {name}: another task reads it with reads={app.formats.get(name)!r}; give all of them the same format")


def _misfit(task: Task[..., object], example: Record) -> ArgumentError | None:
    """Return why *task* cannot be called with a record such as *example*; None when it can."""
    try:
        task.spec.parameters.fit([dict(example)], {})
    except ArgumentError as wrong:
        return wrong
    return None


def _operations(name: str, operations: object) -> tuple[str, ...]:
    some = [*operations] if isinstance(operations, list | tuple | set | frozenset) else [None]
    if any(one not in OPERATIONS for one in some) or len({*some}) < len(some):
        raise OptionError(f"stream {name}: operations are {operations!r}; give some of {OPERATIONS}, each once, or leave them out for all")
    return tuple(one for one in OPERATIONS if one in some)
