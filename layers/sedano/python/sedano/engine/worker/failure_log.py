"""The log line of a failed body: the task, the attempt, the exception, its place, and whether it is retried.

The level is ``warning`` if the task is retried or its outcome did not count, ``error`` if it has finally failed, and ``info`` if the body
raised `Ignore`. Arguments and results are never part of the line. The text of the exception is, so do not put secrets into an exception's
message.
"""

from __future__ import annotations

import os
import re

from sedano.engine.batch import Judged, Ran
from sedano.engine.task_context import span_of
from sedano.errors import Ignore
from sedano.model import states
from sedano.model.ledger.records import ErrorRecord
from sedano.ports import Telemetry

FAILED, TRIED_AGAIN, UNDECIDED, IGNORED = (
    "task failed", "task failed and is tried again", "task failed; its outcome was not recorded", "task ended with Ignore",
)  # fmt: skip
MOST_FRAMES = 8
_FOREIGN = (os.__file__.removesuffix("os.py"), __file__.removesuffix("engine/worker/failure_log.py"), "/opt/python/", "<")
"""The folders of the standard library, of this library and of a function's layers: their frames are not the application's."""
_PACKAGES = ("/site-packages/", "/dist-packages/")
_frame = re.compile(r'^ +File "([^"\n]+)", line ([0-9]+), in (.+)$', re.MULTILINE)


def tell_failure(ran: Ran, judged: Judged | None, telemetry: Telemetry) -> None:
    """Log that the body of *ran* failed, if it did; *judged*: its verdict, or None if nothing could be recorded."""
    error = ran.run.error
    if error is None or error.cause or ran.held.stillborn is not None:
        return
    level, message = _judgement(error, judged)
    command, record = ran.held.job.command, ran.held.record
    again = {"retry_in": round(judged.verdict.pause, 3)} if judged is not None and message == TRIED_AGAIN else {}
    span = span_of(command, record.fence if record is not None else 0, ran.started_clock)
    telemetry.log(
        level, message, task=command.task, task_id=command.task_id, attempt=command.attempt, trace_id=span.trace_id, span_id=span.span_id,
        parent_span_id=span.parent_id, **again, error_type=error.type_name, error=error.message, frames=frames(error.traceback),
        traceback=error.traceback,
    )  # fmt: skip


def frames(traceback: str) -> list[str]:
    """Return the application's own frames of a *traceback*, the raising one last: ``/var/task/shop.py:14 in charge``."""
    found = [f"{file}:{line} in {name}" for file, line, name in _frame.findall(traceback) if _is_ours(file)]
    return found[-MOST_FRAMES:]


def _is_ours(file: str) -> bool:
    return not file.startswith(_FOREIGN) and not any(part in file for part in _PACKAGES)


def _judgement(error: ErrorRecord, judged: Judged | None) -> tuple[str, str]:
    if judged is None:
        return "warning", UNDECIDED
    if judged.verdict.state == states.RETRY:
        return "warning", TRIED_AGAIN
    return ("info", IGNORED) if error.type_name == Ignore.__name__ else ("error", FAILED)
