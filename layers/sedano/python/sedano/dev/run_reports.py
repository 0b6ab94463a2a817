"""A run that ended, as lines: its state, its result or its exception, and a traceback if it failed for good. Pure."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, NamedTuple

from sedano.engine.batch import Judged, Ran
from sedano.engine.worker.execution import DRAINED
from sedano.engine.worker.failure_log import FAILED, IGNORED, TRIED_AGAIN, UNDECIDED, frames
from sedano.model import states

MOST_CHARACTERS = 160
BUILT_IN = "sedano."
PARKED = "message parked"
"""The engine's log line about a message that it parked."""
_SHOWN_ELSEWHERE = frozenset({FAILED, TRIED_AGAIN, UNDECIDED, IGNORED, DRAINED})
"""Log lines of the engine about runs, which `report` shows with more."""
_STYLES = {states.SUCCESS: "good", states.RETRY: "warning"}


class Report(NamedTuple):
    """One line about the task *task* with the id *task_id*, and a *traceback* that is printed below it."""

    task: str
    task_id: str
    text: str
    style: str
    traceback: str = ""


class EndCounts:
    """Counts the ends of tasks in one worker, from any thread."""

    def __init__(self) -> None:
        """Begin at zero."""
        self._lock = threading.Lock()
        self._ended = self._failed = self._parked = 0

    def note(self, ran: Ran, judged: Judged | None) -> None:
        """Count a run that ended its task, except the library's own tasks that did not fail."""
        state = judged.verdict.state if judged is not None else None
        row = states.ROWS[state] if state is not None else None
        if row is not None and row.terminal:
            has_failed = row.event == "failed"
            with self._lock:
                self._ended += has_failed or not ran.held.job.command.task.startswith(BUILT_IN)
                self._failed += has_failed

    def park(self) -> None:
        """Count a message that was parked."""
        with self._lock:
            self._parked += 1

    def counts(self) -> dict[str, Any]:
        """Return how many tasks ended, how many of them failed, and how many messages were parked."""
        return {"ended": self._ended, "failed": self._failed, "parked": self._parked}


def report(ran: Ran, judged: Judged | None) -> Report | None:
    """Return the line about a run that ended; None for the library's own tasks, unless they fail."""
    command, error = ran.held.job.command, ran.run.error
    state = judged.verdict.state if judged is not None else None
    if command.task.startswith(BUILT_IN) and error is None:
        return None
    took = _seconds(max(0.0, ran.ended - ran.started))
    if state == states.SUCCESS:
        text, traceback = f"SUCCESS in {took}: {_short(ran.result or 'null')}", ""
    elif error is None:
        text, traceback = f"{state or 'not recorded, it runs again'} after {took}", ""
    else:
        why = f"{error.type_name}: {_short(error.message)}" if error.message else error.type_name
        text, traceback = f"{_words(state, judged, took)}: {why}", error.traceback
    if state == states.RETRY and error is not None:
        where = frames(error.traceback)
        text, traceback = text + (f" ({where[-1]})" if where else ""), ""
    return Report(command.task, command.task_id, text, _STYLES.get(state, "bad") if state else "warning", traceback)


def _words(state: object, judged: Judged | None, took: str) -> str:
    if judged is None:
        return "failed, not recorded, it runs again"
    if state == states.RETRY:
        return f"RETRY in {_seconds(judged.verdict.pause)}"
    return f"{state} after {took}"


def logged(level: str, message: str, fields: Mapping[str, Any]) -> Report | None:
    """Return the line about a log line of the engine; None if `report` shows it, or if it is only informative."""
    if level not in ("warning", "error") or message in _SHOWN_ELSEWHERE:
        return None
    about = {name: value for name, value in fields.items() if name not in ("task", "task_id", "trace_id") and value not in ("", None)}
    if message == PARKED:
        why = ": ".join(str(about[name]) for name in ("field", "detail") if name in about)
        text = f"PARKED ({about.get('reason', 'no reason')}){why and f' {why}'}; `sedano parked list` shows the message"
    else:
        text = message + "".join(f" {name}={_short(str(value))}" for name, value in about.items() if name != "traceback")
    style = "bad" if level == "error" else "warning"
    return Report(str(fields.get("task", "")), str(fields.get("task_id", "")), text, style, str(about.get("traceback", "")))


def _short(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}…"


def _seconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
