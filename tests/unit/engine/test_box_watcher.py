"""The process that watches the groups of boxed programs: the lines that it reads, when it is replaced, and what a fork keeps."""

import os
import select
import signal
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from sedano.engine.boxes.watcher import GroupWatcher
from tests.unit.engine.boxed import QUICKLY, SECONDS

pytestmark = QUICKLY
GROUP = 4_194_000
"""The number of a group that does not exist."""


class Told:
    """A shell in place of the watching process; it copies each line that it reads to a file."""

    def __init__(self, folder: Path) -> None:
        """Write the program into *folder*."""
        pipe, shell = folder / "told", folder / "shell"
        os.mkfifo(pipe)
        self.out = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)  # never at its end
        shell.write_text(f"#!/bin/sh\necho\nexec cat > {pipe}\n")
        shell.chmod(shell.stat().st_mode | stat.S_IXUSR)
        self.watcher = GroupWatcher(str(shell))

    def lines(self, count: int) -> list[str]:
        """Return the next *count* lines."""
        found = ""
        while found.count("\n") < count:
            assert select.select([self.out], [], [], SECONDS)[0]
            found += os.read(self.out, 1_000).decode()
        return found.splitlines()

    def end(self) -> None:
        """Let the watching process end."""
        if self.watcher._process is not None:
            self.watcher._process.kill()
            self.watcher._process.wait()
        os.close(self.out)


@pytest.fixture
def told(tmp_path: Path) -> Iterator[Told]:
    """A watcher whose process is a shell that copies each line that it reads."""
    one = Told(tmp_path)
    yield one
    one.end()


def test_each_group_is_reported_when_it_begins_and_when_it_ends(told: Told) -> None:
    assert told.watcher.pid is None
    told.watcher.add(GROUP)
    assert told.lines(1) == [f"+ {GROUP}"]
    first = told.watcher.pid
    told.watcher.add(GROUP + 1)
    told.watcher.remove(GROUP)
    told.watcher.remove(GROUP)
    told.watcher.remove(GROUP + 1)
    assert told.lines(3) == [f"+ {GROUP + 1}", f"- {GROUP}", f"- {GROUP + 1}"]
    assert (first, told.watcher._groups) == (told.watcher.pid, set())


def test_a_watching_process_that_has_ended_is_replaced_by_one_that_gets_all_groups(told: Told) -> None:
    told.watcher.add(GROUP + 1)
    told.lines(1)
    first = told.watcher._process
    assert first is not None
    os.kill(first.pid, signal.SIGKILL)
    os.waitid(os.P_PID, first.pid, os.WEXITED | os.WNOWAIT)
    told.watcher.add(GROUP)
    assert told.lines(2) == [f"+ {GROUP}", f"+ {GROUP + 1}"]
    assert first.returncode == -signal.SIGKILL
    assert told.watcher.pid not in (None, first.pid)


def test_a_watching_process_that_replaces_another_one_gets_no_group_that_has_ended(told: Told) -> None:
    told.watcher.add(GROUP)
    told.watcher.add(GROUP + 1)
    told.lines(2)
    first = told.watcher._process
    assert first is not None
    first.kill()
    os.waitid(os.P_PID, first.pid, os.WEXITED | os.WNOWAIT)
    told.watcher.remove(GROUP)
    assert told.lines(1) == [f"+ {GROUP + 1}"]


def test_a_forked_process_leaves_the_groups_to_its_parent(told: Told) -> None:
    told.watcher.add(GROUP)
    told.lines(1)
    before, lock = told.watcher._process, told.watcher._lock
    assert before is not None
    assert before.stdin is not None
    told.watcher._forget()
    assert (told.watcher.pid, told.watcher._groups, told.watcher._lock is lock) == (None, set(), False)
    assert (before.stdin.closed, before.returncode) == (True, 0)
    told.watcher._forget()
    os.waitpid(before.pid, 0)


def test_a_fork_forgets_the_watching_process_of_its_parent(told: Told) -> None:
    told.watcher.add(GROUP)
    child = os.fork()
    if child == 0:
        os._exit(0 if told.watcher.pid is None else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert told.watcher.pid is not None


def test_a_watching_process_is_away_from_the_folder_the_session_and_the_variables_of_its_worker() -> None:
    watcher = GroupWatcher()
    watcher.add(GROUP)
    process = watcher._process
    assert process is not None
    try:
        assert os.getsid(process.pid) == process.pid
        assert process.stdout is not None
        assert process.stdout.closed
        if Path("/proc/self").exists():
            about = Path(f"/proc/{process.pid}")
            assert str((about / "cwd").readlink()) == "/"
            assert {part.partition(b"=")[0] for part in (about / "environ").read_bytes().split(b"\0")} <= {b"PATH", b"PWD", b""}
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            os.kill(process.pid, number)
        watcher.add(GROUP + 1)
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


def test_a_machine_without_a_shell_has_no_watching_process() -> None:
    watcher = GroupWatcher("/nowhere/sh")
    watcher.add(GROUP)
    watcher.remove(GROUP)
    assert watcher.pid is None
