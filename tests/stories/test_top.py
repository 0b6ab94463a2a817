"""`sedano top` on a terminal: it draws, follows what changes, leads from a failure to its traceback, and gives the terminal back."""

import os
import pty
import select
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sedano.cli import main
from sedano.cli.exits import Exit
from sedano.cli.live_screens import ENTER, LEAVE

LIBRARY = Path(__file__).parents[2] / "layers/sedano/python"
PROGRAM = """
import fcntl, signal, sys, termios
from sedano import testing
from sedano.cli import main
from tests.stories import pantry

fcntl.ioctl(0, termios.TIOCSCTTY, 0)
signal.signal(signal.SIGINT, signal.default_int_handler)  # a run of tests in the background hands down that Ctrl-C is ignored
with testing.world(pantry.app) as world:
    pantry.spoil.apply_async((7,), task_id="rotten")
    world.drain()
    sys.exit(main(["top", "--app", "tests.stories.pantry:app", *sys.argv[1:]]))
"""
DEADLINE_S = 120.0


class Terminal:
    """A terminal of 100 by 30 characters on which the verb runs."""

    def __init__(self, *arguments: str) -> None:
        """Start it."""
        self.there, here = pty.openpty()
        termios.tcsetwinsize(here, (30, 100))
        self.before = termios.tcgetattr(here)
        path = os.pathsep.join([str(LIBRARY), str(Path(__file__).parents[2]), *filter(None, sys.path)])
        variables = {"PATH": os.environ["PATH"], "PYTHONPATH": path, "TERM": "xterm"}
        command = [sys.executable, "-c", PROGRAM, *arguments]
        self.process = subprocess.Popen(command, stdin=here, stdout=here, stderr=here, env=variables, start_new_session=True)
        self.here, self.written = here, ""

    def press(self, keys: str) -> None:
        """Type *keys*."""
        os.write(self.there, keys.encode())

    def until(self, text: str) -> str:
        """Return what was written up to *text*, and forget it."""
        ends = time.monotonic() + DEADLINE_S
        while text not in self.written:
            assert time.monotonic() < ends, f"{text!r} is not in {self.written[-3_000:]!r}"
            if select.select([self.there], [], [], 0.2)[0]:
                self.written += os.read(self.there, 65_536).decode("utf-8", "replace")
        found, _, self.written = self.written.partition(text)
        return found

    def end(self) -> None:
        """End the verb if it still runs, and close the terminal."""
        self.process.kill()
        self.process.wait()
        os.close(self.here)
        os.close(self.there)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    """A terminal with the verb on it."""
    found = Terminal()
    yield found
    found.end()


def test_a_person_goes_from_what_needs_them_to_the_traceback_and_back(terminal: Terminal) -> None:
    terminal.until(ENTER)
    terminal.until("pantry.spoil failed once with ValueError")
    terminal.until("a million views on AWS")
    terminal.press("f")
    terminal.until("top  Failures")
    terminal.until("in spoil")
    terminal.press("j\r")
    terminal.until("top  Tasks")
    terminal.until("rotten")
    terminal.press("j\r")
    terminal.until("Task rotten")
    terminal.until("raise ValueError")
    terminal.press("x")
    terminal.until("(hidden)")
    terminal.press("b")
    terminal.until("top  Tasks")
    terminal.press("/state:SUCCESS\r")
    terminal.until("0 of 1 tasks")
    terminal.press("q")
    terminal.until(LEAVE)
    assert terminal.process.wait(DEADLINE_S) == Exit.DONE
    assert termios.tcgetattr(terminal.here)[3] == terminal.before[3]


def test_ctrl_c_gives_the_terminal_back(terminal: Terminal) -> None:
    terminal.until("Needs you")
    terminal.press("\x03")
    terminal.until(LEAVE)
    assert terminal.process.wait(DEADLINE_S) == Exit.INTERRUPTED
    assert termios.tcgetattr(terminal.here)[3] == terminal.before[3]


def test_a_wrong_search_is_said_in_the_last_line_and_the_picture_stays(terminal: Terminal) -> None:
    terminal.until("Needs you")
    terminal.press("/colour:red\r")
    terminal.until("is not a condition")
    terminal.press("n")
    terminal.until("Needs you")
    terminal.press("q")
    assert terminal.process.wait(DEADLINE_S) == Exit.DONE


def test_no_hostile_text_reaches_the_terminal(terminal: Terminal) -> None:
    terminal.press("f")
    seen = terminal.until("top  Failures") + terminal.until("pantry.spoil") + terminal.until("a million")
    assert "\x1b]" not in seen
    assert "\u202e" not in seen
    assert "\x1b[31;1m" not in seen
    terminal.press("q")
    assert terminal.process.wait(DEADLINE_S) == Exit.DONE


def test_without_a_terminal_it_names_the_verbs_for_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["top", "--app", "tests.stories.pantry:app"]) == Exit.USAGE
    assert "in a pipe use `sedano list`" in capsys.readouterr().err
