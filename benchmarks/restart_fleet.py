"""Processes of `sedano worker` over one SQLite file, which are restarted, killed and stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from benchmarks.restart_witness import Restart
from sedano.host.supervised import READY, VARIABLE

ROOT = Path(__file__).resolve().parent.parent
APP = "benchmarks.restart_tasks:app"
ENDS_S = 60.0
"""The seconds that a process may take to end: this machine may be busy."""
LINES = 15


class Member(NamedTuple):
    """One process, and the pipe on which it reports that it receives messages."""

    process: subprocess.Popen[bytes]
    news: int

    def ready(self) -> None:
        """Wait until it receives messages or has ended."""
        while (found := os.read(self.news, 64)) and READY.encode() not in found:
            pass


class RestartFleet:
    """Several processes with the same *options*, each with a number (place); they log to a file in *folder*."""

    def __init__(self, folder: Path, file: Path, processes: int, options: Sequence[str]) -> None:
        """Start nothing yet."""
        self._words = [sys.executable, "-m", "sedano", "worker", APP, "--file", str(file), "--log", "json", *options]
        self._log, self._count = folder / "workers.log", processes
        self._members: list[Member] = []

    def __enter__(self) -> Self:
        self._members = [self._started() for _ in range(self._count)]
        for one in self._members:
            one.ready()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for one in self._members:
            one.process.kill()
            one.process.wait()
            os.close(one.news)

    def restart(self, place: int) -> Restart:
        """Ask the process in *place* to end, wait for its end, and start another one; return when that one receives messages."""
        old = self._members[place].process
        began = time.time()
        old.terminate()
        old.wait(ENDS_S)
        ended = time.time()
        self._replace(place).ready()
        return Restart(began, ended)

    def kill(self, place: int, holds: Callable[[int], bool]) -> bool:
        """Kill the process in *place*, and start another one; return whether it left a claim behind (*holds*)."""
        old = self._members[place].process
        old.kill()
        old.wait()
        was_at_work = holds(old.pid)
        self._replace(place).ready()
        return was_at_work

    def pause(self, places: Sequence[int], seconds: float, holds: Callable[[int], bool]) -> int:
        """Stop the processes in *places* for *seconds*; return how many of them held a claim then."""
        stopped = [self._members[place].process for place in places]
        until = time.monotonic() + seconds
        for one in stopped:
            one.send_signal(signal.SIGSTOP)
        at_work = sum(holds(one.pid) for one in stopped)
        while (left := until - time.monotonic()) > 0:  # the length of the pause matters
            time.sleep(left)
        for one in stopped:
            one.send_signal(signal.SIGCONT)
        return at_work

    def end(self) -> None:
        """Ask all to end, and wait."""
        for one in self._members:
            one.process.terminate()
        for one in self._members:
            one.process.wait(ENDS_S)

    def last_lines(self) -> str:
        """Return the end of their log."""
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-LINES:])

    def _replace(self, place: int) -> Member:
        os.close(self._members[place].news)
        self._members[place] = self._started()
        return self._members[place]

    def _started(self) -> Member:
        """Start a process; it reports on a pipe, and drains when this process has ended."""
        news, theirs = os.pipe()
        own = {name: value for name, value in os.environ.items() if not name.startswith(("SEDANO_", "AWS_"))}
        named = {**own, VARIABLE: f"{os.getpid()}:{theirs}", "SEDANO_SPOOL": "off"}
        with self._log.open("ab") as log:
            process = subprocess.Popen(
                self._words, cwd=ROOT, env=named, pass_fds=(theirs,), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip
        os.close(theirs)
        return Member(process, news)
