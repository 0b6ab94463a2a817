"""sedano: Celery's next architecture with no servers to run.

    from sedano import Sedano

    app = Sedano("shop")

    @app.task
    def add(a: int, b: int) -> int:
        return a + b
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sedano.app import Sedano
    from sedano.canvas import Sig, chain, chord, chunks, fork, group, signature
    from sedano.engine.context import TaskContext, current
    from sedano.engine.registry import WorkerSettings
    from sedano.engine.sections import optional, poisonous, retry
    from sedano.errors import Ignore, Reject, SedanoError
    from sedano.event import DomainEvent
    from sedano.model.breaker import Breaker
    from sedano.model.holding import Call
    from sedano.model.limiting import Range
    from sedano.model.priority import Candidate
    from sedano.model.retry import Retry
    from sedano.model.timetable import at, cron, every
    from sedano.result import AsyncResult, GroupResult, ResultSet

__version__ = "0.1.0"
__all__ = [
    "AsyncResult", "Breaker", "Call", "Candidate", "DomainEvent", "GroupResult", "Ignore", "Range", "Reject", "ResultSet", "Retry",
    "Sedano", "SedanoError", "Sig", "TaskContext", "WorkerSettings", "at", "chain", "chord", "chunks", "cron", "current", "every", "fork",
    "group", "optional", "poisonous", "retry", "signature",
]  # fmt: skip
_ROOMS = {
    "Sedano": "app", "Sig": "canvas", "chain": "canvas", "chord": "canvas", "chunks": "canvas", "fork": "canvas", "group": "canvas",
    "signature": "canvas", "TaskContext": "engine.context", "current": "engine.context", "optional": "engine.sections",
    "poisonous": "engine.sections", "retry": "engine.sections", "Ignore": "errors", "Reject": "errors", "SedanoError": "errors",
    "DomainEvent": "event", "Breaker": "model.breaker", "Call": "model.holding", "Candidate": "model.priority", "Range": "model.limiting",
    "Retry": "model.retry", "at": "model.timetable", "cron": "model.timetable",
    "every": "model.timetable", "AsyncResult": "result", "GroupResult": "result", "ResultSet": "result",
    "WorkerSettings": "engine.registry",
}  # fmt: skip
"""Where each name lives. A function that runs tasks loads no canvas and no results, one that writes history loads no app."""

_IMPORTER = "importlib._bootstrap"
"""Asks whether each name after `from sedano import` is here before it looks for a module of that name."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Return what *name* stands for, loaded when it is first asked for."""
        if name not in _ROOMS:
            asked = sys._getframe(1)  # noqa: SLF001 - `inspect` would load what no function needs
            if asked.f_globals.get("__name__") == _IMPORTER:
                raise AttributeError(name)
            raise importlib.import_module("sedano.celery_names").not_here(name, asked)
        found = globals()[name] = getattr(importlib.import_module(f"sedano.{_ROOMS[name]}"), name)
        return found
