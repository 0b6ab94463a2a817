"""Runs of Spark jobs on this machine (`sedano.spark.Runs`): each is a process, and its outcome is in a file beside its log.

    python -m sedano.local.spark_runs END MODULE ARGUMENT…      the command of such a process: it runs the module and writes the outcome
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from sedano.errors import OptionError
from sedano.history import find_jobs
from sedano.model.history.spark_run import SparkRun

WORDS = 2_000
"""How many characters of the end of a failed run's output are kept."""


class LocalRuns:
    """Processes of this machine; *jobs* names the module of each job, such as ``{"history": "glue_jobs.history"}``."""

    def __init__(self, folder: Path, jobs: Mapping[str, str]) -> None:
        """Keep the files of the runs in *folder*."""
        self._folder, self._jobs = folder, jobs

    def of(self, job: str, task_id: str) -> Sequence[SparkRun]:
        """Return the runs for this task, the oldest first."""
        return [_seen(path) for path in sorted(self._place(job, task_id).glob("*.pid"))]

    def start(self, job: str, arguments: Mapping[str, str], task_id: str) -> None:
        """Start the job's module with *arguments* in a new process."""
        if job not in self._jobs:
            raise OptionError(f"spark job {job!r}: this machine has {', '.join(sorted(self._jobs)) or 'none'}")
        place = self._place(job, task_id)
        place.mkdir(parents=True, exist_ok=True)
        number = len(list(place.glob("*.pid")))
        words = [word for name, value in arguments.items() for word in (name, value)]
        command = [sys.executable, "-m", "sedano.local.spark_runs", str(place / f"{number:03d}.end"), self._jobs[job], *words]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        (place / f"{number:03d}.pid").write_text(str(process.pid))

    def stop(self, job: str, run: str) -> None:
        """Stop a run and its children; do nothing if it has ended."""
        pid = int((self._folder / job / run).read_text())
        if _alive(pid):
            os.killpg(pid, 15)

    def _place(self, job: str, task_id: str) -> Path:
        return self._folder / job / task_id


def _seen(path: Path) -> SparkRun:
    """Return the state of one run: its outcome, or whether its process is alive."""
    name = "/".join(path.parts[-2:])
    end = path.with_suffix(".end")
    if end.exists():
        told = json.loads(end.read_text())
        return SparkRun(name, "SUCCEEDED" if told["code"] == 0 else "FAILED", told["seconds"], told["words"])
    if _alive(int(path.read_text())):
        return SparkRun(name, "RUNNING")
    return _seen(path) if end.exists() else SparkRun(name, "FAILED", 0.0, "its process was killed")


def _alive(pid: int) -> bool:
    """Return whether a process runs; reap a child process that has ended."""
    try:
        return os.waitpid(pid, os.WNOHANG) == (0, 0)
    except ChildProcessError:  # another process started it
        return Path(f"/proc/{pid}").exists() if Path("/proc/self").exists() else _signalled(pid)


def _signalled(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def main(end: Path, module: str, words: Sequence[str]) -> int:
    """Run *module* and write its outcome atomically."""
    began = time.monotonic()
    find_jobs()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-m", module, *words], env=environment, capture_output=True, text=True, check=False)
    told = {"code": done.returncode, "seconds": time.monotonic() - began, "words": (done.stderr or done.stdout)[-WORDS:]}
    fresh = end.with_suffix(".new")
    fresh.write_text(json.dumps(told))
    fresh.replace(end)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:]))
