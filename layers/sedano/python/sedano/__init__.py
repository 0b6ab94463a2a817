"""sedano: Celery's next architecture with no servers to run.

    from sedano import Sedano

    app = Sedano("shop")

    @app.task
    def add(a: int, b: int) -> int:
        return a + b
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

    from sedano.api.shared_tasks import SharedTasks
    from sedano.app import Sedano
    from sedano.canvas import Sig, chain, chord, chunks, fork, group
    from sedano.canvas.signature import signature  # the module has the function's name: imported through the package, mypy sees both
    from sedano.engine.body_sections import optional, poisonous, retry
    from sedano.engine.hooks import EndedRun, Publication
    from sedano.engine.task_context import TaskContext, current
    from sedano.engine.worker.settings import WorkerSettings
    from sedano.errors import Ignore, Reject, SedanoError
    from sedano.event import DomainEvent
    from sedano.model.brokers import sqs
    from sedano.model.circuits import Breaker
    from sedano.model.collection import Call
    from sedano.model.configuration.fields import COLD
    from sedano.model.limits.task_limits import Range
    from sedano.model.priority import Candidate
    from sedano.model.retry import Retry
    from sedano.model.schedules.timetable import at, cron, every, upcoming
    from sedano.result import AsyncResult, GroupResult, ResultSet

__version__ = "0.1.0"
__all__ = [
    "COLD", "AsyncResult", "Breaker", "Call", "Candidate", "DomainEvent", "EndedRun", "GroupResult", "Ignore", "Publication", "Range",
    "Reject", "ResultSet", "Retry", "Sedano", "SedanoError", "SharedTasks", "Sig", "TaskContext", "WorkerSettings", "at", "chain", "chord",
    "chunks", "cron", "current", "every", "fork", "group", "optional", "poisonous", "retry", "signature", "sqs", "upcoming",
]  # fmt: skip

_IMPORTER = "importlib._bootstrap"
"""The import system: for `from sedano import …` it requests each name as an attribute before it looks for a module of that name."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Return the object called *name*, loaded at its first use."""
        home = _home(name)
        if home is None:
            asked = sys._getframe(1)  # noqa: SLF001 - `inspect` would load modules that no function needs
            if asked.f_globals.get("__name__") == _IMPORTER:
                raise AttributeError(name)
            from sedano.errors.celery_names import not_here

            raise not_here(name, asked)
        found = globals()[name] = getattr(home, name)
        return found


def _home(name: str) -> ModuleType | None:
    """Import and return the module that defines *name*; None if the package has no such name.

    Only this module is loaded: a worker loads neither canvas nor results, and a recorder does not load the app.
    """
    home: ModuleType | None
    match name:
        case "Sedano":
            import sedano.app as home
        case "SharedTasks":
            import sedano.api.shared_tasks as home
        case "Sig" | "chain" | "chord" | "chunks" | "fork" | "group" | "signature":
            import sedano.canvas as home
        case "AsyncResult" | "GroupResult" | "ResultSet":
            import sedano.result as home
        case "DomainEvent":
            import sedano.event as home
        case "Ignore" | "Reject" | "SedanoError":
            import sedano.errors as home
        case "TaskContext" | "current" | "WorkerSettings" | "EndedRun" | "Publication" | "optional" | "poisonous" | "retry":
            home = _engine(name)
        case _:
            home = _model(name)
    return home


def _engine(name: str) -> ModuleType:
    home: ModuleType
    match name:
        case "TaskContext" | "current":
            import sedano.engine.task_context as home
        case "WorkerSettings":
            import sedano.engine.worker.settings as home
        case "EndedRun" | "Publication":
            import sedano.engine.hooks as home
        case _:
            import sedano.engine.body_sections as home
    return home


def _model(name: str) -> ModuleType | None:
    home: ModuleType
    match name:
        case "at" | "cron" | "every" | "upcoming":
            import sedano.model.schedules.timetable as home
        case "Breaker":
            import sedano.model.circuits as home
        case "COLD":
            import sedano.model.configuration.fields as home
        case "Call":
            import sedano.model.collection as home
        case "Candidate":
            import sedano.model.priority as home
        case "Range":
            import sedano.model.limits.task_limits as home
        case _:
            return _option(name)
    return home


def _option(name: str) -> ModuleType | None:
    home: ModuleType
    match name:
        case "Retry":
            import sedano.model.retry as home
        case "sqs":
            import sedano.model.brokers as home
        case _:
            return None
    return home
