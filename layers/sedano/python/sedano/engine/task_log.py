"""Log lines from inside a task: they go to the telemetry of the worker that runs it, or to standard logging outside a worker."""

from __future__ import annotations

import logging
from contextvars import ContextVar
from typing import Any

from sedano.engine.task_context import CURRENT
from sedano.ports import Telemetry

TELEMETRY: ContextVar[Telemetry | None] = ContextVar("sedano_telemetry", default=None)
_LOG = logging.getLogger("sedano")


def notice(level: str, message: str, **fields: Any) -> None:
    """Write one structured line about the running task."""
    context, telemetry = CURRENT.get(), TELEMETRY.get()
    if context is not None:
        fields |= {"task": context.task, "task_id": context.id, "attempt": context.attempt, "trace_id": context.span.trace_id}
    if telemetry is not None:
        telemetry.log(level, message, **fields)
    else:
        _LOG.log(logging.getLevelName(level.upper()), "%s %s", message, fields)
