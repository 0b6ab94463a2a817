"""The process that kills the programs of boxes when their worker was killed and could not do it.

A program notices such a death only by the end of its input, and a program that hangs does not read. The kernel's signal at a parent's death
(`PR_SET_PDEATHSIG`) follows the *thread* that started the program, and threads of a worker end before its warm programs do. So each worker
that runs a boxed task starts one `sh` in its own session. The `sh` reads from a pipe which process groups run, and kills the remaining ones
at the end of the pipe, which only the death of the worker closes. A process that is forked from the worker closes its copy.
"""

from __future__ import annotations

import os
import subprocess
import threading
from contextlib import suppress

SCRIPT = """
trap '' HUP INT TERM
echo
groups=
while read -r sign group; do
  left=
  for one in $groups; do [ "$one" = "$group" ] || left="$left $one"; done
  groups=$left
  [ "$sign" = + ] && groups="$groups $group"
done
for one in $groups; do kill -s KILL -- "-$one"; done
"""


class GroupWatcher:
    """Keeps a watching process informed of the groups that run."""

    def __init__(self, shell: str = "sh") -> None:
        """Start nothing yet; *shell* will read the script."""
        self._shell = shell
        self._lock, self._groups = threading.Lock(), set[int]()
        self._process: subprocess.Popen[bytes] | None = None
        os.register_at_fork(after_in_child=self._forget)

    @property
    def pid(self) -> int | None:
        """The process that watches; None before the first group, and on a machine without `sh`."""
        return self._process.pid if self._process is not None else None

    def add(self, group: int) -> None:
        """Kill *group* if this process ends before it is removed."""
        with self._lock:
            self._groups.add(group)
            self._report(b"+ %d\n" % group)

    def remove(self, group: int) -> None:
        """Stop watching *group*: it was killed, and its number may soon be reused."""
        with self._lock:
            if group in self._groups:
                self._groups.remove(group)
                self._report(b"- %d\n" % group)

    def _report(self, line: bytes) -> None:
        """Send *line*; a watching process that has ended is replaced by another one, which gets all groups."""
        if self._process is not None:
            with suppress(OSError):
                self._sent(line)
                return
            self._process.wait()
        self._process = _started(self._shell)
        with suppress(OSError):
            self._sent(b"".join(b"+ %d\n" % group for group in sorted(self._groups)))

    def _sent(self, data: bytes) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.write(data)

    def _forget(self) -> None:
        """Leave the groups to the process that this one was forked from."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._process.returncode = 0  # it is no child of this process, which does not wait for it
        self._lock, self._groups, self._process = threading.Lock(), set(), None


def _started(shell: str) -> subprocess.Popen[bytes] | None:
    """Start a watching process, and wait until no signal to stop ends it any more; None where the machine has no such *shell*."""
    with suppress(OSError):
        process = subprocess.Popen(
            [shell, "-c", SCRIPT],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={"PATH": os.environ.get("PATH", os.defpath)},
            start_new_session=True,
        )
        if process.stdout is not None:
            process.stdout.read(1)
            process.stdout.close()
        return process
    return None


WATCHER = GroupWatcher()
"""The one of this process."""
