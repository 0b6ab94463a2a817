"""One process of a box: started in its own session, limited, and killed with its whole group."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from sedano.engine.boxes.watcher import WATCHER
from sedano.errors import BoxMissing
from sedano.model.boxes import RS, BoxPlan, OutputLines, environment

PIECE = 65_536
AT_FIRST = 1 << 30
"""The bytes of address space, beside `memory`, that the first process of a box may reserve: Node reserves 570 MB and uses 50 of them."""
SPARE = 32 << 20
"""How much more a later process may reserve than the first one did."""
REAPED_S = 1.0
"""How long to wait for an ended process; the system reports a killed one within milliseconds."""
Log = Callable[[str, str], None]
"""Logs one line that a process wrote, with the name of its stream."""


class BoxProcess:
    """A process. *task_id* and *log* belong to its latest call; output after its reply counts as output of that call."""

    def __init__(self, plan: BoxPlan, reserved: int | None = None) -> None:
        """Start it; *reserved*: the bytes that its runtime reserves and does not use, where an earlier process has shown that.

        Raises:
            BoxMissing: it cannot be started.
        """
        self._process, self._memory = _started(plan), plan.memory
        WATCHER.add(self._process.pid)
        _limit(self._process.pid, plan.memory, AT_FIRST if reserved is None else reserved + SPARE)
        self.pid, self.calls = self._process.pid, 0
        stdin, stdout, stderr = self._process.stdin, self._process.stdout, self._process.stderr
        assert stdin is not None and stdout is not None and stderr is not None  # noqa: S101, PT018 - all three are pipes
        self._files = (stdin, stdout, stderr)
        self.requests, self.output, self.errors = (file.fileno() for file in self._files)
        for descriptor in (self.requests, self.output, self.errors):
            os.set_blocking(descriptor, False)
        self.lines, self._error_lines = OutputLines(), OutputLines()
        self.log: Log | None = None
        self.last_line = ""

    def replies(self) -> list[bytes] | None:
        """Return the replies that have arrived, after logging the other lines; None at the end of the output."""
        data = _read(self.output)
        if data == b"":
            return None
        found = []
        for line in self.lines.feed(data) if data else ():
            if line.startswith(RS):
                found.append(line)
            else:
                self._logged("stdout", line)
        return found

    def log_errors(self) -> bool:
        """Log the output that has arrived on stderr; return whether more may follow."""
        data = _read(self.errors)
        for line in self._error_lines.feed(data) if data else ():
            self._logged("stderr", line)
        return data != b""

    def log_rest(self) -> None:
        """Log the remaining output of the ended process, including an unfinished last line."""
        if self.lines.rest and not self.lines.rest.startswith(RS):
            self._logged("stdout", self.lines.rest)
        while (data := _read(self.errors)) is not None:
            for line in self._error_lines.feed(data or b"\n"):
                self._logged("stderr", line)
            if not data:
                return

    def is_fit(self) -> bool:
        """Return whether it can take a call: its output is open, without an unrequested reply. Logs its output since the last call."""
        self.log_errors()
        return self.replies() == [] and not self.lines.rest.startswith(RS)

    def status(self) -> int | None:
        """Return its exit status, as in `Popen.returncode`, without reaping it, so that its number is not reused; None: it runs."""
        ended = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended is None:
            return None
        return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status

    def reserved(self) -> int:
        """Return the bytes that its runtime reserves and does not use, which `memory` does not count; from now on, allow it no more."""
        try:
            pages = [int(number) for number in Path(f"/proc/{self.pid}/statm").read_text(encoding="ascii").split()]
        except OSError:
            return 0
        unused = max(0, pages[5] - pages[1]) * os.sysconf("SC_PAGE_SIZE")
        _limit(self.pid, self._memory, unused)
        return unused

    def let_go(self) -> None:
        """Close its input: a process that waits for a request ends."""
        with suppress(OSError):
            self._files[0].close()

    def kill(self) -> None:
        """Kill its whole group, reap it, and close its pipes."""
        with suppress(OSError):
            os.killpg(self.pid, signal.SIGKILL)
        WATCHER.remove(self.pid)
        self.forget()
        with suppress(subprocess.TimeoutExpired):  # one that waits for a device; `subprocess` reaps it later
            self._process.wait(REAPED_S)

    def forget(self) -> None:
        """Close its pipes."""
        for file in self._files:
            with suppress(OSError):
                file.close()

    def _logged(self, stream: str, line: bytes) -> None:
        self.last_line = line.decode("utf-8", "replace").rstrip("\r")
        if self.log is not None:
            self.log(stream, self.last_line)


def _read(descriptor: int) -> bytes | None:
    """Return what has arrived, empty at the end; None: nothing yet."""
    try:
        return os.read(descriptor, PIECE)
    except BlockingIOError:
        return None


def _started(plan: BoxPlan) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    try:
        return subprocess.Popen(
            plan.command, stdin=pipe, stdout=pipe, stderr=pipe, cwd=plan.cwd, env=environment(plan, os.environ),
            start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        if plan.cwd is not None and not Path(plan.cwd).is_dir():
            raise BoxMissing(f"box {plan.name}: cwd {plan.cwd!r} is not a folder of this worker; deploy it with the app") from None
        remedy = "install it in the worker's image or layer, or write its path"
        raise BoxMissing(f"box {plan.name}: the program {plan.command[0]!r} cannot be started here: {error.strerror}; {remedy}") from None


def _limit(pid: int, memory: int | None, beside: int) -> None:
    """Limit the process: no core file, and *memory* bytes of data and *beside* ones. Only Linux can limit a process from outside."""
    import resource

    if not hasattr(resource, "prlimit"):
        return
    with suppress(ProcessLookupError):  # it has ended already; its call reports that
        resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))
        if memory is not None:
            resource.prlimit(pid, resource.RLIMIT_DATA, (memory + beside, resource.RLIM_INFINITY))
