"""Worker processes from the view of the supervisor: their start, their reports, and their deadlines.

A new process is a spare: it has imported this library but nothing of the project, has opened no file of it, and waits. When it receives
its arguments, it becomes a worker. So a reload takes only as long as the import of the user's modules.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from sedano.dev.channel import DEADLINE, DRAINED, GIVEN, READY, STOP, Channel
from sedano.dev.worker import DOES_NOT_LOAD, Given

_LIBRARY = Path(__file__).resolve().parents[1] / "__init__.py"

GRACE_S = 1.0
"""The seconds that a batch may exceed its deadline: the engine ends a body at its own limit, with a record, before that."""
LEAVE_S = 5.0
"""The seconds that a worker without a batch may take to end after the request to stop."""
_ENVIRONMENT = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1"}
"""Compiled files are identified by second and size, so for a file that was saved twice in a second, the older version could run."""


def library_mark() -> tuple[int, int]:
    """Return when the library was installed (ns) and its inode: a spare that is older than the installation has old code."""
    status = _LIBRARY.stat()
    return status.st_mtime_ns, status.st_ino


def overdue(deadline: float | None, asked_to_stop: float | None, now: float) -> bool:
    """Return whether a worker must be ended at *now* (epoch s).

    Its batch has exceeded the *deadline*, or it has no batch (None) and has not ended in time after the request to stop.
    """
    if deadline is not None:
        return now > deadline + GRACE_S
    return asked_to_stop is not None and now > asked_to_stop + LEAVE_S


class Child:
    """One worker process.

    *ready*: its report, None before it. *deadline*: that of its batch. *stopping*: the moment of the request to stop. *drained*: with
    `--once` its counts, once nothing is due any more.
    """

    def __init__(self, output: int, environment: Mapping[str, str]) -> None:
        """Start it, in its own session, so that Ctrl-C in the terminal reaches only the supervisor. It writes to *output*."""
        ours, theirs = socket.socketpair()
        self._output, self._library = output, library_mark()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "sedano.dev.worker", str(theirs.fileno())], stdin=subprocess.DEVNULL,
            stdout=output, stderr=output, pass_fds=(theirs.fileno(), output), env={**environment, **_ENVIRONMENT},
            start_new_session=True,
        )  # fmt: skip
        theirs.close()
        self.channel = Channel(ours)
        self.ready: dict[str, Any] | None = None
        self.drained: dict[str, Any] | None = None
        self.deadline: float | None = None
        self.stopping: float | None = None
        self.was_ended = False

    def is_fresh(self) -> bool:
        """Return whether it runs with the library that is installed now."""
        return self.process.poll() is None and self._library == library_mark()

    def begin(self, given: Mapping[str, Any], listening: socket.socket) -> None:
        """Let it load the app and work, with the arguments *given*. Only then does it hold the port of *listening*."""
        self.channel.send(GIVEN, [listening.fileno()], **Given(**given, output=self._output)._asdict())

    @property
    def pid(self) -> int:
        """The process id."""
        return self.process.pid

    def receive_line(self, row: Mapping[str, Any]) -> None:
        """Process a line of its channel."""
        if row["kind"] == READY:
            self.ready = _fields(row)
        elif row["kind"] == DRAINED:
            self.drained = _fields(row)
        elif row["kind"] == DEADLINE:
            self.deadline = row["at"]

    def stop(self, now: float) -> None:
        """Ask it to receive no more messages and to finish its current batch; end it if it has not begun to work."""
        if self.stopping is None:
            self.stopping = now
            if self.ready is None:
                self.end()
            else:
                self.channel.send(STOP)

    def end(self) -> None:
        """Kill it and the processes that its tasks have started."""
        self.was_ended = self.was_ended or self.process.returncode is None
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def ended(self) -> str:
        """Wait until it has ended, after its channel was closed; return the cause, or "" if it ended on request."""
        try:
            status = self.process.wait(timeout=LEAVE_S)
        except subprocess.TimeoutExpired:
            self.end()
            status = self.process.wait()
        self.channel.close()
        if self.stopping is not None or self.drained is not None or status == DOES_NOT_LOAD:
            return ""
        self.end()  # the processes that its tasks have started: on AWS the sandbox ends with them
        return f"signal {-status}" if status < 0 else f"exit status {status}"


def _fields(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "kind"}
