"""The log of `sedano worker` as lines for a person: the ends of tasks, warnings, prints."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from sedano.dev.output import WorkerConsole, capture
from sedano.dev.run_reports import EndCounts, logged, report
from sedano.dev.worker import ShownTelemetry, show
from sedano.engine.batch import Judged, Ran
from sedano.host.worker_command import WorkerOptions
from sedano.views.terminal_colour import wants_colour


class WorkerLines(ShownTelemetry):
    """Shows what `ShownTelemetry` does, and what the process says of itself."""

    def __init__(self, console: WorkerConsole) -> None:
        """Write to *console*."""
        super().__init__(console, EndCounts())
        self._lines = console

    def log(self, level: str, message: str, /, **fields: object) -> None:
        """Write a line where it is a warning or an error, or about this process as a whole."""
        if level == "info" and "task_id" not in fields:
            show(self._lines, logged("warning", message, fields))
        else:
            super().log(level, message, **fields)


def in_lines(options: WorkerOptions, environment: Mapping[str, str] = os.environ) -> WorkerOptions:
    """Return *options* with a log in lines on stderr; prints and log records of tasks begin with their names from now on."""
    console = WorkerConsole(os.dup(2), wants_colour(environment, is_terminal=sys.stderr.isatty()))
    capture(console)

    def heard(ran: Ran, judged: Judged | None) -> None:
        show(console, report(ran, judged))

    return options._replace(telemetry=WorkerLines(console), listener=heard)
