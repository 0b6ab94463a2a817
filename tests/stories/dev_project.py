"""A project of a user on which `sedano dev` runs, as real processes: what it prints, how it is saved, and how it is killed."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from sedano import Sedano
from sedano.api import dev_server

SECONDS = 120.0
"""How long anything may take: the machine may be busy."""
LEAVE_S = 5.0
CODE = """
import logging, os, subprocess, time
from sedano import Retry, Sedano
from sedano.webhooks import echo, hmac_sha256

app = Sedano("shop", retry=Retry(max_retries=0))
VERSION = 1


@app.event
class Paid:
    number: str


@app.task(name="version")
def version() -> int:
    return VERSION


@app.task(name="slow")
def slow(until: str) -> int:
    print("slow begins", os.getpid())
    while not os.path.exists(until):
        time.sleep(0.01)
    return VERSION


@app.task(name="parent")
def parent(file: str) -> None:
    with open(file, "w") as note:
        note.write(str(subprocess.Popen(["sleep", "600"]).pid))
    os._exit(9)


@app.task(name="noisy")
def noisy(text: str) -> str:
    print("printed " + text)
    logging.getLogger("shop").info("logged %s", text)
    return text


@app.task(name="fails")
def fails() -> None:
    raise ValueError("out of tea")


@app.task(name="tried", retry=Retry(max_retries=1, interval_start=0.1, jitter=False))
def tried() -> None:
    raise KeyError("once more")


@app.webhook("till", verify=hmac_sha256(header="X-Signature", prefix="sha256="), challenge=echo())
def till(request) -> Paid:
    print("asked version", VERSION)
    return Paid(number=request.field("number"))


@Paid.subscribe
@app.task(name="receipt")
def receipt(number: str) -> str:
    print("receipt", number)
    return number
"""
PYPROJECT = """
[tool.sedano]
app = "shop_tasks:app"

[tool.sedano.dev.secrets]
till = "open sesame"
"""
COMMAND = (sys.executable, "-m", "sedano", "dev")


class DevProject:
    """One project, and the `sedano dev` that was started in it last."""

    def __init__(self, folder: Path, *, write: bool = True, python: str = sys.executable) -> None:
        """Write its files into *folder*, unless they are made in another way; nothing is started yet. The command is that of *python*."""
        self.folder, self.python = folder, python
        self.lines: list[str] = []
        self.process: subprocess.Popen[str] | None = None
        self._arrived = threading.Condition()
        self._readers: list[threading.Thread] = []
        if write:
            (folder / "pyproject.toml").write_text(PYPROJECT)
            self.save(1)

    def save(self, version: int, code: str = CODE) -> None:
        """Save *code* as the given *version*, at once: a file that is empty for a moment is a change of its own, and is loaded too."""
        written = self.folder.with_name(f"{self.folder.name}.saved")
        written.write_text(code.replace("VERSION = 1", f"VERSION = {version}"))
        written.replace(self.folder / "shop_tasks.py")

    @property
    def environment(self) -> dict[str, str]:
        """An environment that names no deployment."""
        own = {name: value for name, value in os.environ.items() if not name.startswith(("SEDANO_", "AWS_"))}
        return {**own, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "SEDANO_SPOOL": "off", "NO_COLOR": "1"}

    def command(self, *options: str) -> subprocess.Popen[str]:
        """Start `sedano dev` with *options*."""
        words = [self.python, *COMMAND[1:], *options]
        return subprocess.Popen(words, cwd=self.folder, env=self.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def start(self, *options: str) -> dict[str, Any]:
        """Start it, wait until it is ready, and return its report."""
        self.begin(*options)
        return self.report()

    def begin(self, *options: str) -> None:
        """Start it, and read its lines."""
        self.process = process = self.command("--json", *options)
        assert process.stderr is not None
        reader = threading.Thread(target=self._read, args=(process.stderr,), daemon=True)
        reader.start()
        self._readers.append(reader)

    def report(self) -> dict[str, Any]:
        """Wait for the report of the one that was started last, and return it."""
        assert self.process is not None
        assert self.process.stdout is not None
        row = self.process.stdout.readline()
        assert row, "\n".join(self.lines)
        report: dict[str, Any] = json.loads(row)
        return report

    def _read(self, stream: Any) -> None:
        for row in stream:
            with self._arrived:
                self.lines.append(row.rstrip("\n"))
                self._arrived.notify_all()

    def said(self, pattern: str, since: int = 0) -> str:
        """Wait for a line that has *pattern*, after the first *since* ones, and return it."""
        found: list[str] = []

        def look() -> bool:
            found[:] = [row for row in self.lines[since:] if re.search(pattern, row)]
            return bool(found)

        with self._arrived:
            assert self._arrived.wait_for(look, SECONDS), f"no line with {pattern!r} in:\n" + "\n".join(self.lines[since:])
        return found[0]

    def beside(self) -> Sedano:
        """An app of another program that is connected as one that was started in the project's folder."""
        ports = dev_server.ports_beside({}, self.folder)
        assert ports is not None
        app = Sedano("shop")
        app.attach(ports)
        return app

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send the signal *number*, wait for the end, and return the exit status; the worker of one that is killed may live on."""
        assert self.process is not None
        self.process.send_signal(number)
        status = self.process.wait(SECONDS)
        for reader in self._readers if number != signal.SIGKILL else ():
            reader.join(SECONDS)
        return status

    def close(self) -> None:
        """End it where a test that failed has left it: the second signal ends the task that runs."""
        for _ in range(2):
            if self.process is not None and self.process.poll() is None:
                self.process.send_signal(signal.SIGTERM)
                with suppress(subprocess.TimeoutExpired):
                    self.process.wait(LEAVE_S)

    def worker(self) -> int:
        """The process id of the worker that runs a task now."""
        row = self.said("slow begins")
        return int(row.rpartition(" ")[2])
