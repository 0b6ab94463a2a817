"""sedano: Celery's next architecture with no servers to run.

    from sedano import Sedano

    app = Sedano("shop")

    @app.task
    def add(a: int, b: int) -> int:
        return a + b
"""

from __future__ import annotations

from sedano.app import Sedano
from sedano.canvas import Sig, chain, chord, chunks, fork, group
from sedano.engine.context import CURRENT, TaskContext
from sedano.engine.sections import optional, poisonous, retry
from sedano.errors import SedanoError
from sedano.event import DomainEvent
from sedano.model.retry import Retry
from sedano.result import AsyncResult, GroupResult, ResultSet

__version__ = "0.1.0"
__all__ = [
    "AsyncResult", "DomainEvent", "GroupResult", "ResultSet", "Retry", "Sedano", "SedanoError", "Sig", "TaskContext", "chain", "chord",
    "chunks", "current", "fork", "group", "optional", "poisonous", "retry",
]  # fmt: skip


def current() -> TaskContext:
    """Return the task that is running here: its id, attempt, fence, deadline, clock.

    Raises:
        SedanoError: no task is running here.
    """
    context = CURRENT.get()
    if context is None:
        raise SedanoError("no task is running here; `current()` is for the body of a task")
    return context
