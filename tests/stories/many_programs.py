"""A host with one project over one SQLite file: its `sedano publisher` and its programs are real processes."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sedano.host import one_file
from tests.waiting import until

SECONDS = 60.0
CODE = """
from sedano import Sedano

app = Sedano("many", queues=("default", "orders.fifo"), connect="sedano.host.one_file:connect")


@app.task(name="add")
def add(number: int) -> int:
    return number


@app.task(name="ordered", queue="orders.fifo", serial_key=lambda number: "one")
def ordered(number: int) -> int:
    return number
"""


class ManyPrograms:
    """A host with one project over one SQLite file, its publisher and its programs."""

    def __init__(self, folder: Path) -> None:
        """Write the project into *folder*."""
        self.folder, self.sock, self.log = folder, folder / "p.sock", list[dict[str, Any]]()
        (folder / "many_tasks.py").write_text(CODE)
        self.process: subprocess.Popen[str] | None = None

    @property
    def environment(self) -> dict[str, str]:
        """The environment of all processes."""
        own = {name: value for name, value in os.environ.items() if not name.startswith(("SEDANO_", "AWS_"))}
        paths = os.pathsep.join([str(self.folder), *(path for path in sys.path if path)])
        return {
            **own, "PYTHONPATH": paths, "SEDANO_FILE": str(self.folder / "many.db"), "SEDANO_FILE_QUEUES": "default,orders.fifo",
            "SEDANO_SPOOL": str(self.folder / "spool"), "NO_COLOR": "1",
        }  # fmt: skip

    def publisher(self, *options: str, command: tuple[str, ...] = (), ready: bool = True, **variables: str) -> subprocess.Popen[str]:
        """Start the publisher, by *command* if one is given, and wait until it is ready."""
        words = command or (sys.executable, "-m", "sedano", "publisher", "many_tasks:app", "--socket", str(self.sock), "--json", *options)
        self.process = subprocess.Popen(
            words, cwd=self.folder, env={**self.environment, **variables}, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )  # fmt: skip
        self._reader = threading.Thread(target=self._read, args=(self.process,))
        self._reader.start()
        if ready:
            until(lambda: self.said("the publisher is ready") or (self.process is not None and self.process.poll() is not None))
            assert self.said("the publisher is ready"), self.log
        return self.process

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self.log.append(json.loads(line) if line.startswith("{") else {"other": line})

    def said(self, message: str) -> list[dict[str, Any]]:
        """Return the lines of the publisher's log with this *message*."""
        return [line for line in self.log if line.get("message") == message]

    def program(self, code: str, **variables: str) -> str:
        """Run a program behind the publisher and return what it prints."""
        own = {**self.environment, "SEDANO_PUBLISHER": f"unix:{self.sock}", **variables}
        done = subprocess.run([sys.executable, "-c", code], cwd=self.folder, env=own, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def end(self, number: int = signal.SIGTERM) -> int:
        """End the publisher and return its status."""
        assert self.process is not None
        self.process.send_signal(number)
        status = self.process.wait(SECONDS)
        self._reader.join(SECONDS)
        return status

    def waiting(self, queue: str = "default") -> int:
        """Return how many messages the queue has."""
        ports = one_file.ports(self.folder / "many.db", ("default", "orders.fifo"))
        return ports.consumers.load(f"commands:{queue}").waiting


@pytest.fixture
def many() -> Iterator[ManyPrograms]:
    """A host on which nothing runs afterwards; the path of a socket is short."""
    with tempfile.TemporaryDirectory() as folder:
        made = ManyPrograms(Path(folder))
        yield made
        if made.process is not None and made.process.poll() is None:
            made.end(signal.SIGKILL)
