"""The description of a failed task for its error callbacks."""

from __future__ import annotations

from typing import Any

from sedano.errors import Unserialisable
from sedano.model.messages import codec
from sedano.model.messages.message import Command
from sedano.model.messages.stamps import read


def request_of(command: Command) -> dict[str, Any]:
    """Return the description of the failed task for an error callback, without arguments that are in the blob store or nested too
    deeply."""
    here = command.data_ref is None and _fits(command)
    return {
        "id": command.task_id, "task": command.task, "args": list(command.args) if here else None,
        "kwargs": dict(command.kwargs) if here else None, "retries": command.attempt, "root_id": command.lineage.root_id or command.task_id,
        "parent_id": command.lineage.parent_id, "tenant": command.tenant, "stamps": dict(read(command.stamps)),
    }  # fmt: skip


def _fits(command: Command) -> bool:
    """Return whether the arguments of *command* can be part of those of another: a message may only nest so deeply."""
    try:
        codec.encode_value([command.args, command.kwargs])
    except Unserialisable:
        return False
    return True
