"""Log records that name their task: every record of standard logging, from any logger.

While a body runs, `record.task`, `record.task_id`, `record.attempt` and `record.trace_id` are those of its task, in threads of the worker
and in async bodies alike; outside a body they are empty. So a format such as ``%(task_id)s`` and every JSON formatter show them.

A record factory does it, because a filter would have to be on each handler. The names are written into the record only when its text is
requested, because `Logger.makeRecord` refuses an `extra=` with a name that the record already has, and a body may log its own ``task_id``.
The caller's value has precedence. The library's own lines (`OWN`) have their own fields.
"""

from __future__ import annotations

import logging
from typing import Any

from sedano.engine.task_context import CURRENT

OUTSIDE = ("", "", "", "")
OWN = "sedano-"
"""The prefix of the loggers of the library's functions, such as ``sedano-worker``."""


class TaskLogRecord(logging.LogRecord):
    """A record with the task in which it was made: *of_task* has the values of `NAMES`, empty outside a body."""

    __slots__ = ("of_task",)
    NAMES = ("task", "task_id", "attempt", "trace_id")
    of_task: tuple[str, str, int | str, str]

    def getMessage(self) -> str:  # noqa: N802 - the name that logging calls
        """Return the record's text; from then on its dictionary also has the task's fields."""
        for name, value in zip(self.NAMES, self.of_task, strict=True):
            self.__dict__.setdefault(name, value)
        return super().getMessage()

    def __getattr__(self, name: str) -> Any:
        """Return a field that the caller did not set."""
        if name not in self.NAMES:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return self.of_task[self.NAMES.index(name)]


def install() -> None:
    """Make the records of this process name their tasks, on top of the record factory that is installed."""
    before = logging.getLogRecordFactory()
    if getattr(before, "names_tasks", False):
        return

    def made(*args: Any, **kwargs: Any) -> logging.LogRecord:
        record = before(*args, **kwargs)
        if str(record.name).startswith(OWN):  # makeLogRecord begins with the name None
            return record
        kind = _kind(type(record))
        named = kind.__new__(kind)
        named.__dict__.update(record.__dict__)
        context = CURRENT.get()
        named.of_task = OUTSIDE if context is None else (context.task, context.id, context.attempt, context.span.trace_id)
        return named

    made.names_tasks = True  # type: ignore[attr-defined] # how a second call finds the first one's
    logging.setLogRecordFactory(made)


def _kind(of: type[logging.LogRecord]) -> type[TaskLogRecord]:
    """Return the record class that names tasks and inherits *of*, the class of another factory."""
    if of not in _KINDS:
        _KINDS[of] = type(of.__name__, (TaskLogRecord, of), {})
    return _KINDS[of]


_KINDS: dict[type[logging.LogRecord], type[TaskLogRecord]] = {logging.LogRecord: TaskLogRecord}
