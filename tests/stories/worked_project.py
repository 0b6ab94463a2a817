"""A project of a user whose tasks `sedano worker` runs as a real process: its log lines, its signals, and how it is killed."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sedano import Sedano
from sedano.host import one_file
from tests.waiting import until

SECONDS = 120.0
CODE = """
import asyncio, os, time
from sedano import Retry, Sedano

app = Sedano("worked", retry=Retry(max_retries=0), queues=("default", "mail"))


def noted(file: str, text: object) -> None:
    with open(file, "a") as notes:
        notes.write(f"{text}\\n")


@app.task(name="note")
def note(file: str, number: int, seconds: float = 0.0) -> int:
    time.sleep(seconds)
    noted(file, number)
    return number


@app.task(name="mail", queue="mail")
def mail(file: str) -> int:
    noted(file, "mail")
    return os.getpid()


@app.task(name="waits")
def waits(file: str, until: str) -> int:
    noted(file, os.getpid())
    while not os.path.exists(until):
        time.sleep(0.01)
    return os.getpid()


@app.task(name="rests")
async def rests(file: str, until: str) -> int:
    noted(file, os.getpid())
    while not os.path.exists(until):
        await asyncio.sleep(0.01)
    return os.getpid()


@app.task(name="leaves")
def leaves() -> None:
    raise SystemExit(7)
"""


class WorkerRun:
    """One `sedano worker`: its process and the lines of its log."""

    def __init__(self, folder: Path, options: tuple[str, ...], environment: Mapping[str, str]) -> None:
        """Start it in *folder*."""
        self.log: list[dict[str, Any]] = []
        self.other: list[str] = []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "sedano", "worker", *options], cwd=folder, env=dict(environment), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            try:
                self.log.append(json.loads(line))
            except ValueError:
                self.other.append(line)

    def said(self, message: str) -> dict[str, Any]:
        """Wait for a line of the log, and return it."""
        until(lambda: any(line.get("message") == message for line in self.log) or self.process.poll() is not None)
        found = [line for line in self.log if line.get("message") == message]
        assert found, (self.log, self.other)
        return found[0]

    def ready(self) -> "WorkerRun":
        """Wait until it receives."""
        self.said("the worker is ready")
        return self

    def send(self, number: int = signal.SIGTERM) -> None:
        """Send it a signal."""
        self.process.send_signal(number)

    def ended(self) -> int:
        """Wait until it has ended, and return its exit status."""
        status = self.process.wait(SECONDS)
        self._reader.join(SECONDS)
        return status

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and wait for the end."""
        self.send(number)
        return self.ended()

    def kill(self) -> None:
        """Kill it and its children, if it lives."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.ended()


class WorkedProject:
    """One project over one SQLite file, and the workers that were started in it."""

    def __init__(self, folder: Path, code: str = CODE) -> None:
        """Write it into *folder*."""
        self.folder, self.runs = folder, list[WorkerRun]()
        (folder / "pyproject.toml").write_text('[tool.sedano]\napp = "work_tasks:app"\n')
        (folder / "work_tasks.py").write_text(code)
        self.notes, self.go = folder / "notes", folder / "go"
        self.notes.touch()
        self.app = Sedano("worked", queues=("default", "mail"))
        self.ports = one_file.ports(folder / "own" / "sedano.db", ("default", "mail"))
        self.app.attach(self.ports)

    @property
    def environment(self) -> dict[str, str]:
        """An environment that names no deployment."""
        own = {name: value for name, value in os.environ.items() if not name.startswith(("SEDANO_", "AWS_"))}
        return {**own, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "SEDANO_SPOOL": "off", "NO_COLOR": "1"}

    def worker(self, *options: str, **variables: str) -> WorkerRun:
        """Start a worker over the project's file, with a visibility of six seconds unless *options* say another one."""
        words = ("--file", str(self.folder / "own" / "sedano.db"), "--visibility", "6", *options)
        self.runs.append(WorkerRun(self.folder, words, {**self.environment, **variables}))
        return self.runs[-1]

    def on_aws(self, *options: str, **stage: str) -> WorkerRun:
        """Start a worker of the *stage* that these variables name."""
        self.runs.append(WorkerRun(self.folder, options, {**self.environment, **stage}))
        return self.runs[-1]

    def noted(self) -> list[str]:
        """The lines that bodies have written."""
        return self.notes.read_text().splitlines()

    def close(self) -> None:
        """Kill what still runs."""
        for run in self.runs:
            run.kill()
        self.app.close()
