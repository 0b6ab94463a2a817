"""The delivery of a document to a sink: the body of the sink's own task.

Each sink has a task, so each delivery has its own claim, retries, circuit and history, and a sink that is away delays no other one. A
document that the sink refuses for good ends its delivery at once, and any other error ends it at the last attempt: the task ends as a
failure and its message is parked, from where `sedano redrive` delivers the document again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from sedano.engine.registry import Registry
from sedano.engine.task_context import current
from sedano.errors import ConfigurationError, Reject, SedanoError


def delivering(registry: Registry, sink: str) -> Callable[[dict[str, Any]], Awaitable[None]]:
    """Return the body that delivers a document to *sink*. The call of the port waits on a thread, so other async bodies run meanwhile."""

    async def deliver(document: dict[str, Any]) -> None:
        ports, context = registry.bound, current()
        if ports is None:
            raise ConfigurationError(f"sink {sink}: the app is connected to no deployment")
        try:
            await asyncio.to_thread(ports.sinks.write, sink, document)
        except SedanoError as error:
            if error.is_final or context.attempt >= registry.tasks[context.task].retry.most_retries:
                raise Reject(f"sink {sink}: {error}") from error
            raise

    return deliver
