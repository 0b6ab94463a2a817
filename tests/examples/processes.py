"""The processes of this machine, and a demo that is ended by Ctrl-C."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence

from examples.local_run.command import INTERRUPTED, ROOT
from tests.ctrl_c import HEARS_CTRL_C


def processes() -> dict[int, tuple[int, str]]:
    """The processes of this machine: parent and command line by process id."""
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,command="], capture_output=True, text=True, check=True).stdout
    return {int(pid): (int(parent), command) for pid, parent, command in (line.split(None, 2) for line in listed.splitlines())}


def started_by(ancestor: int) -> dict[int, str]:
    """The command lines of what *ancestor* started, and of what that started, by process id."""
    found, everything = {ancestor: ""}, processes()
    for _ in everything:
        more = {pid: command for pid, (parent, command) in everything.items() if parent in found and pid not in found}
        if not more:
            break
        found |= more
    return {pid: command for pid, command in found.items() if pid != ancestor}


def left_of(started: Mapping[int, str]) -> list[str]:
    """Those of *started* that still run."""
    return [command for pid, (_, command) in processes().items() if started.get(pid) == command and "<defunct>" not in command]


def interrupted(demo: Sequence[str], phase: str) -> tuple[str, list[str], list[str]]:
    """Run *demo* until its *phase* and press Ctrl-C; return what it printed then, the commands that it had started, and those left."""
    with subprocess.Popen([*HEARS_CTRL_C, *demo], cwd=ROOT, env=os.environ.copy(), stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr
        said = ""
        while phase not in said:
            line = running.stderr.readline()
            assert line, said
            said += line
        started = started_by(running.pid)
        running.send_signal(signal.SIGINT)
        rest = running.stderr.read()
    assert running.returncode == INTERRUPTED, rest
    return rest, [*started.values()], left_of(started)
