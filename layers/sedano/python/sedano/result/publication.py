"""Publishing a task and handing its result to the caller."""

from __future__ import annotations

from typing import Any

from sedano.engine.publisher.publisher import Outlet
from sedano.model.tasks.signature import Signature
from sedano.result.async_result import AsyncResult


def publish(outlet: Outlet, signature: Signature) -> AsyncResult[Any]:
    """Publish *signature* and return its result; with ``on_duplicate="wait"``, wait for the end of the task first."""
    draft = outlet.publish(signature)
    asked = draft.command
    result: AsyncResult[Any] = AsyncResult(outlet, asked.task_id, keeps=not asked.ignore_result, keyed=draft.keyed)
    if signature.options.on_duplicate == "wait":
        result.wait()
    return result
