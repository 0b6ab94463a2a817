"""The processes in which the endpoint runs functions, as the operating system lists them."""

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_BEFORE_NAME = "/ministack-lambda-"


@dataclass(frozen=True, slots=True)
class FunctionProcess:
    """One running function: its process id and the name of the deployed function."""

    pid: int
    function: str


def function_processes(parent: int) -> list[FunctionProcess]:
    """Return the processes in which the endpoint with process id `parent` runs functions at this moment."""
    return [
        FunctionProcess(pid, _function_name(command)) for pid, ppid, command in _processes() if ppid == parent and _BEFORE_NAME in command
    ]


def _function_name(command: str) -> str:
    """Return the name in `.../ministack-lambda-NAME-RANDOM/_worker.py`."""
    directory = command.split(_BEFORE_NAME, maxsplit=1)[1].split("/", maxsplit=1)[0]
    return directory.rpartition("-")[0]


def _processes() -> Iterator[tuple[int, int, str]]:
    """Yield the id, the parent's id and the command line of every process."""
    if (_PROC / "self" / "stat").exists():
        yield from _listed_by_proc()
    else:
        yield from _listed_by_ps()


def _listed_by_proc() -> Iterator[tuple[int, int, str]]:
    for directory in _PROC.glob("[0-9]*"):
        try:
            after_name = (directory / "stat").read_text().rpartition(")")[2]
            command = (directory / "cmdline").read_text().replace("\0", " ")
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended in the meantime
        yield int(directory.name), int(after_name.split()[1]), command


def _listed_by_ps() -> Iterator[tuple[int, int, str]]:
    listing = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,command="], capture_output=True, text=True, check=True)
    for line in listing.stdout.splitlines():
        pid, ppid, command = line.split(None, 2)
        yield int(pid), int(ppid), command
