"""Streams as their author sees them: what a record is, and who stands on which stream.

    from sedano.streams import StreamRecord, TableChange

How a task comes to stand on a stream is said at `Sedano.stream` (`sedano.sources`).
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Mapping, Sequence
from typing import Protocol

from sedano.engine.chronicle import Host
from sedano.engine.drafts import CommandDraft
from sedano.engine.registry import Registry
from sedano.engine.streams import Streams
from sedano.errors import ArgumentError, ConfigurationError, OptionError
from sedano.model.messages import NOTHING
from sedano.model.signature import Signature
from sedano.model.stream import EXAMPLES, OPERATIONS
from sedano.model.stream import StreamRecord as StreamRecord
from sedano.model.stream import TableChange as TableChange
from sedano.model.stream import call_id as call_id
from sedano.model.webhook import NAME
from sedano.origins import may_declare
from sedano.outlet import Outlet
from sedano.task import Task

_OF_A_TABLE = ":dynamodb:"


class Declares(Protocol):
    """What declaring a stream needs of an app."""

    registry: Registry

    @property
    def streams(self) -> dict[str, dict[str, tuple[str, ...]]]:
        """By the names of streams: the names of the tasks that stand on each, with the operations that each wants."""


class Reads(Declares, Protocol):
    """What reading streams needs of an app."""

    name: str

    @property
    def outlet(self) -> Outlet:
        """The way out."""


def check_name(name: object) -> None:
    """Refuse what no stream can be called; at once, for `@app.stream` without a name would say nothing of it.

    Raises:
        OptionError: it is no name.
    """
    if not isinstance(name, str) or not re.fullmatch(NAME, name):
        raise OptionError(f"stream: {name!r:.60} is no name; write @app.stream('orders'): a-z, then a-z, 0-9, - and _, at most 40 in all")


def declare(app: Declares, name: str, operations: Sequence[str], task: object) -> None:
    """Let *task* of *app* stand on the stream *name*; see `Sedano.stream`.

    Raises:
        OptionError: an option cannot be honoured, or *task* cannot be called with a record.
    """
    if not isinstance(task, Task) or app.registry.tasks.get(task.name) is not task.spec:
        who = getattr(task, "name", getattr(task, "__qualname__", repr(task)))
        raise OptionError(f"stream {name}: {who} is no task of this app; @app.stream({name!r}) stands in the line above @app.task")
    if not may_declare(app.registry, f"stream {name} {task.name}", task.name, task.name in app.streams.get(name, {})):
        raise OptionError(f"stream {name}: the task {task.name} stands on it already; name all its operations in one @app.stream")
    wrongs = [wrong for example in EXAMPLES if (wrong := _misfit(task, example)) is not None]
    if len(wrongs) == len(EXAMPLES):
        raise OptionError(f"stream {name}: {task.name} is called with one argument, a record, which is a dict: {wrongs[0].detail}")
    wanted = _operations(name, operations)
    app.streams.setdefault(name, {})[task.name] = wanted


def _misfit(task: Task[..., object], example: TableChange | StreamRecord) -> ArgumentError | None:
    """Return why *task* cannot be called with a record such as *example*; None when it can."""
    try:
        task.spec.parameters.fit([dict(example)], {})
    except ArgumentError as wrong:
        return wrong
    return None


def reading(app: Reads, arns: Mapping[str, str] = NOTHING) -> Streams:
    """Return what takes the records of the streams of *app*; *arns*: where each of them is, for whoever is handed records by their ARN.

    Raises:
        ConfigurationError: one that has an ARN is not declared, or a Kinesis stream is asked for a table's operations.
    """
    _check(app, arns)
    outlet = app.outlet

    def called(task: str, record: TableChange | StreamRecord, task_id: str) -> CommandDraft:
        return outlet.call(Signature(task, (record,)), task_id)

    return Streams(app.streams, called, outlet.ports, Host(f"{app.name}@{socket.gethostname()}", os.getpid()), outlet.lamport)


def _check(app: Reads, arns: Mapping[str, str]) -> None:
    for name, arn in arns.items():
        if name not in app.streams:
            raise ConfigurationError(
                f"SEDANO_STREAMS: no task of the app stands on the stream {name}, but on {', '.join(sorted(app.streams)) or 'none'}; "
                f"put @app.stream({name!r}) above one, or leave it out of the setting streams; and deploy the stage again"
            )
        if _OF_A_TABLE not in arn and any(app.streams[name].values()):
            raise ConfigurationError(f"stream {name}: operations are those of a table, and {arn} is none; leave them out of @app.stream")


def _operations(name: str, operations: object) -> tuple[str, ...]:
    some = [*operations] if isinstance(operations, list | tuple | set | frozenset) else [None]
    if any(one not in OPERATIONS for one in some) or len({*some}) < len(some):
        raise OptionError(f"stream {name}: operations are {operations!r}; give some of {OPERATIONS}, each once, or leave them out for all")
    return tuple(one for one in OPERATIONS if one in some)
