"""The lines that `sedano dev` writes: one line for each event, with the time, in colour on a terminal.

The supervisor and its workers write to one stream. A line is one `write`, so lines of two processes never mix. Control characters in texts
from outside are escaped (`sedano.views.terminal_text`); of the escape sequences that a task prints, only colours are kept.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any

from sedano.engine.task_context import CURRENT
from sedano.views.terminal_colour import RESET, painted
from sedano.views.terminal_text import line

_COLOUR = re.compile("(\x1b\\[[0-9;]*m)")


def label(task: str, task_id: str) -> str:
    """Return the label of a task in lines: its name and the first characters of its id."""
    return f"{task}[{task_id[:6]}]"


class Console:
    """Writes lines to the file descriptor *target*."""

    def __init__(self, target: int, colour: bool, clock: Callable[[], str] = lambda: time.strftime("%H:%M:%S")) -> None:
        """Write with *colour* or without; *clock* returns the time as text."""
        self.target, self.colour, self._clock = target, colour, clock

    def say(self, text: str, style: str = "", about: str = "") -> None:
        """Write *text* as one line, after the time and the name of the task that it is *about*."""
        parts = [self.painted(self._clock(), "dim"), self.painted(line(about), "task") if about else "", self.painted(line(text), style)]
        self.write(" ".join(part for part in parts if part) + "\n")

    def block(self, text: str, style: str = "dim") -> None:
        """Write *text*, which has several lines, indented below the line before."""
        rows = [self.painted(f"    {line(row)}", style) for row in text.rstrip("\n").split("\n")]
        self.write("\n".join(rows) + "\n")

    def painted(self, text: str, style: str) -> str:
        """Return *text* in *style* if lines are coloured."""
        return painted(text, style, colour=self.colour)

    def plain(self, text: str) -> str:
        """Return one line that a task printed: its own colours are kept if lines are coloured, other control characters are escaped."""
        if not self.colour or "\x1b" not in text:
            return line(text)
        return "".join(part if _COLOUR.fullmatch(part) else line(part) for part in _COLOUR.split(text)) + RESET

    def write(self, text: str) -> None:
        """Write *text* at once."""
        data = text.encode("utf-8", "backslashreplace")
        while data:
            data = data[os.write(self.target, data) :]


class WorkerConsole(Console):
    """The console of a worker: its tasks go on if the reader of the lines has closed the pipe."""

    def write(self, text: str) -> None:
        """Write *text*, if there is a reader."""
        with suppress(OSError):
            super().write(text)


class TaskStream:
    """Replaces stdout or stderr in a worker: each line begins with the name of the task that printed it.

    Lines are put together for each thread, and written whole.
    """

    def __init__(self, console: Console, under: IO[str]) -> None:
        """Write to *console*; *under* serves every other attribute."""
        self._console, self._under, self._own = console, under, threading.local()

    def write(self, text: str) -> int:
        """Write the complete lines of *text*; keep the rest until its line ends."""
        rows = (getattr(self._own, "rest", "") + text).split("\n")
        self._own.rest = rows.pop()
        if rows:
            running = CURRENT.get()
            head = self._console.painted(label(running.task, running.id), "task") + " " if running is not None else ""
            self._console.write("".join(f"{head}{self._console.plain(row)}\n" for row in rows))
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        """Write *lines*."""
        for one in lines:
            self.write(one)

    def flush(self) -> None:
        """Do nothing: whole lines are written already."""

    def end(self) -> None:
        """Write the last line, even if it has no line feed."""
        if getattr(self._own, "rest", ""):
            self.write("\n")

    def __getattr__(self, name: str) -> Any:
        """Return any other attribute of a stream."""
        return getattr(self._under, name)


class LogLines(logging.Handler):
    """Shows the log records of the user's own loggers."""

    def __init__(self, console: Console) -> None:
        """Write to *console*."""
        super().__init__(logging.INFO)
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        """Write *record* as a line, and its traceback below."""
        style = "bad" if record.levelno >= logging.ERROR else "warning" if record.levelno >= logging.WARNING else ""
        running = CURRENT.get()
        try:
            text = f"{record.levelname.lower()} {record.name}: {record.getMessage()}"
        except Exception as wrong:  # noqa: BLE001 - the arguments of a record are the user's
            text = f"{record.levelname.lower()} {record.name}: {record.msg!r} ({type(wrong).__name__}: {wrong})"
        self._console.say(text, style, label(running.task, running.id) if running is not None else "")
        if record.exc_info and record.exc_info[0] is not None:
            self._console.block(logging.Formatter().formatException(record.exc_info))


def capture(console: Console) -> None:
    """Let each printed line and log record of this process begin with the name of its task."""
    sys.stdout, sys.stderr = TaskStream(console, sys.stdout), TaskStream(console, sys.stderr)
    root = logging.getLogger()
    root.addHandler(LogLines(console))
    root.setLevel(logging.INFO)
