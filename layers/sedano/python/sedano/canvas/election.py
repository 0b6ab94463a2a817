"""An election that dispatches a signature, and the result of the task that it dispatches."""

from __future__ import annotations

from typing import Any

from sedano.engine.publisher.publisher import Outlet
from sedano.model.elections import Mode
from sedano.model.tasks.signature import Signature
from sedano.result import AsyncResult


def elect(
    outlet: Outlet, election_id: str, topic: str, signature: Signature, task_id: str, *, mode: Mode, timeout: int
) -> AsyncResult[Any]:
    """Hold the election *election_id*, which dispatches *signature* as the task *task_id*, and return that task's result."""
    from sedano.engine.election_requests import hold

    keeps = hold(outlet, election_id, topic, signature, task_id, mode=mode, timeout=timeout)
    return AsyncResult(outlet, task_id, keeps=keeps)
