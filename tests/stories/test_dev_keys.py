"""Keys in the terminal of `sedano dev`: `r` restarts its worker, `q` ends it. A real terminal, real processes."""

import os
import pty
import subprocess
import termios
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sedano.dev.keys import terminal
from tests.stories.dev_project import COMMAND, SECONDS, DevProject
from tests.waiting import until


class AtTerminal(DevProject):
    """A project whose `sedano dev` reads keys from a terminal of its own."""

    def __init__(self, folder: Path) -> None:
        self.keyboard, self.line = pty.openpty()
        self.modes = termios.tcgetattr(self.line)
        super().__init__(folder)

    def command(self, *options: str) -> "subprocess.Popen[str]":
        """Start `sedano dev` at the terminal."""
        return subprocess.Popen(
            [*COMMAND, *options], cwd=self.folder, env=self.environment, text=True, stdin=self.line, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip

    def press(self, keys: str) -> None:
        """Press *keys*, without Enter."""
        os.write(self.keyboard, keys.encode())

    def hang_up(self) -> None:
        """Close the terminal."""
        for descriptor in (self.keyboard, self.line):
            with suppress(OSError):
                os.close(descriptor)


@pytest.fixture
def project(tmp_path: Path) -> Iterator[AtTerminal]:
    """A project on which `sedano dev` runs at a terminal."""
    made = AtTerminal(tmp_path)
    made.start()
    yield made
    made.close()
    made.hang_up()


def begun(project: DevProject, name: str) -> tuple[Any, Path, int]:
    """A task that runs until a file is made: its result, the file, and the process that runs it."""
    before, go = len(project.lines), project.folder / name
    running = project.beside().send_task("slow", (str(go),))
    return running, go, int(project.said("slow begins", before).rpartition(" ")[2])


def test_r_restarts_the_worker_and_the_running_task_ends_first(project: AtTerminal) -> None:
    project.said("keys: r restarts the worker, q ends sedano dev")
    running, go, first = begun(project, "one")
    before = len(project.lines)
    project.press("r")
    project.said("restarting the worker", before)
    project.said("ready in", before)
    other, also, second = begun(project, "two")
    assert second != first
    assert not running.ready()
    for one in (go, also):
        one.touch()
    assert (running.get(timeout=SECONDS), other.get(timeout=SECONDS)) == (1, 1)
    assert project.end() == 0


def test_q_ends_it_after_the_running_task_and_leaves_the_terminal_as_it_was(project: AtTerminal) -> None:
    running, go, _ = begun(project, "one")
    assert termios.tcgetattr(project.line) != project.modes
    project.press("q")
    project.said("stopping: the running task ends first")
    go.touch()
    assert project.process is not None
    assert project.process.wait(SECONDS) == 0
    assert termios.tcgetattr(project.line) == project.modes
    project.start()
    assert running.get(timeout=SECONDS) == 1
    assert project.end() == 0


def test_a_second_q_ends_the_running_task(project: AtTerminal) -> None:
    running, _, _ = begun(project, "never")
    project.press("q")
    project.said("stopping: the running task ends first")
    project.press("q")
    assert project.process is not None
    assert project.process.wait(SECONDS) == 0
    assert not running.ready()


def test_other_keys_do_nothing_and_a_terminal_that_is_closed_does_not_end_it(project: AtTerminal) -> None:
    project.press("x\n\x04é")
    running, go, _ = begun(project, "one")
    project.hang_up()
    go.touch()
    assert running.get(timeout=SECONDS) == 1
    until(lambda: project.beside().send_task("version").get(timeout=SECONDS) == 1)
    assert project.end() == 0


def test_a_pipe_and_a_closed_input_take_no_keys() -> None:
    reads, writes = os.pipe()
    with terminal(reads) as has_keys:
        assert not has_keys
    os.close(reads)
    os.close(writes)
    with terminal(reads) as has_keys:
        assert not has_keys
