"""The processes of `sedano worker` that serve one queue of the census: they are killed and replaced during the run.

Each process drains and ends when the `with` statement ends, or when the demo has ended.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from types import TracebackType
from typing import NamedTuple, Self

from examples.census.tasks import FLAGS
from examples.local_run.chaos import LOOK_S, Kill
from sedano.host.supervised import VARIABLE

COUNT, LANES = 2, 4
VISIBILITY_S = 10
"""The seconds after which the tasks of a killed process run in another one."""
DRAIN_S, ENDED_S = 5, 10.0
ARRIVED_S, BETWEEN_KILLS_S = 0.2, 3.0
"""Seconds until the requests of stopped processes have arrived, and between two kills."""
OPTIONS = (
    "-Q", FLAGS, "-c", str(LANES), "--visibility", str(VISIBILITY_S), "--drain", str(DRAIN_S), "--log", "json",
)  # fmt: skip


class Process(NamedTuple):
    """One process, and the pipe on which it reports to its parent. Nothing reads the pipe; the process works without that."""

    running: subprocess.Popen[bytes]
    news: int


class Processes:
    """Runs `COUNT` processes of *app* (module:attribute, found in *code*) on the stage of *environment*; they write to the file *log*."""

    def __init__(self, app: str, code: Path, environment: Mapping[str, str], log: Path) -> None:
        """Start nothing yet."""
        self._words = [sys.executable, "-m", "sedano", "worker", app, *OPTIONS]
        self._code, self._environment, self._log = code, environment, log
        self._processes: dict[int, Process] = {}

    def __enter__(self) -> Self:
        for _ in range(COUNT):
            self._start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for one in self._processes.values():
            one.running.terminate()
        for one in self._processes.values():
            try:
                one.running.wait(DRAIN_S + ENDED_S)
            except subprocess.TimeoutExpired:
                one.running.kill()
                one.running.wait()
            os.close(one.news)

    @property
    def pids(self) -> set[int]:
        """Return the ids of the running processes."""
        return set(self._processes)

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Stop all processes until the `with` statement ends, except those that are started within it."""
        stopped = [*self._processes.values()]
        for one in stopped:
            one.running.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            for one in stopped:
                one.running.send_signal(signal.SIGCONT)

    def replace(self, pid: int) -> None:
        """Kill the process *pid*, and start another one to replace it."""
        one = self._processes.pop(pid)
        one.running.kill()
        one.running.wait()
        os.close(one.news)
        self._start()

    def _start(self) -> None:
        """Start a process in its own session, so that Ctrl-C in a terminal reaches only the demo. It ends if its parent has ended."""
        news, theirs = os.pipe()
        named = {**os.environ, **self._environment, VARIABLE: f"{os.getpid()}:{theirs}"}
        with self._log.open("ab") as log:
            running = subprocess.Popen(
                self._words, cwd=self._code, env=named, pass_fds=(theirs,), stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        os.close(theirs)
        self._processes[running.pid] = Process(running, news)


class ProcessKiller:
    """Kills *most* of *processes* while they hold claims; each is replaced by a new one. *at_work* returns the ids of those that hold
    claims at a moment (epoch s).
    """

    def __init__(self, processes: Processes, at_work: Callable[[float], Collection[int]], most: int) -> None:
        """Kill nothing yet."""
        self.kills: list[Kill] = []
        self._processes, self._at_work, self._most = processes, at_work, most

    def work(self, stop: Event) -> None:
        """Kill until enough are killed, or until *stop* is set.

        All are stopped first, so that none finishes its tasks between the read of its claims and its end.
        """
        while len(self.kills) < self._most and not stop.wait(LOOK_S):
            with self._processes.stopped():
                stop.wait(ARRIVED_S)
                busy = sorted(self._processes.pids.intersection(self._at_work(time.time())))
                if busy:
                    self.kills.append(Kill(time.time(), busy[0], True))
                    self._processes.replace(busy[0])
            if busy:
                stop.wait(BETWEEN_KILLS_S)
