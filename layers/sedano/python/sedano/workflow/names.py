"""The names of the built-in tasks that direct workflows, and the part of an app that `sedano.workflow` needs."""

from __future__ import annotations

from typing import Protocol

from sedano.engine.publisher.publisher import Outlet
from sedano.engine.registry import Registry
from sedano.model.retry import MAX_EXECUTIONS, Retry

WORKFLOW, COLLECT, PATROL = "sedano.workflow", "sedano.workflow.collect", "sedano.workflow.patrol"
BULK = "sedano.bulk"
"""The task that makes a change of many tasks (`sedano.engine.bulk`)."""
PATIENT = Retry(max_retries=MAX_EXECUTIONS - 1)


class WorkflowApp(Protocol):
    """The part of an app that workflows need."""

    queues: tuple[str, ...]
    registry: Registry

    @property
    def outlet(self) -> Outlet:
        """The publisher."""
