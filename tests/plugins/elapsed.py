"""Says where a long run is: at the first test of each room, the minutes that the run has taken so far, of the clock and of CPU; at the end,
which files took most CPU (`--costly=25`). CPU is that of the run's own process and of children that have ended, so that a busy machine does
not change it; what a server that lives for the whole run takes is not in it.
"""

import os
import time

import pytest

COLLECTING = "before the first test"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the number of files to name."""
    parser.addoption("--costly", type=int, default=0, metavar="N", help="name the N files of tests that took most CPU")


def pytest_configure(config: pytest.Config) -> None:
    """Begin to count, unless little shall be said."""
    if config.get_verbosity() >= 0:
        config.pluginmanager.register(Elapsed(config), "elapsed")


def cpu() -> float:
    """Return the seconds of CPU of this process and of those of its children that have ended."""
    return sum(os.times()[:4])


class Elapsed:
    """Knows the room and the file that the run is in, and what each file has taken."""

    def __init__(self, config: pytest.Config) -> None:
        """Begin now."""
        self.began, self.room, self.file, self.since, self._config = time.monotonic(), "", COLLECTING, cpu(), config
        self.taken: dict[str, float] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Say a line when a room begins."""
        file = nodeid.split("::", maxsplit=1)[0]
        room = "/".join(file.split("/")[:2])
        if file != self.file:
            self._count(file)
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if room != self.room and terminal is not None:
            self.room = room
            minutes, busy = (time.monotonic() - self.began) / 60, cpu() / 60
            terminal.ensure_newline()
            terminal.write_line(f"{room}: begins after {minutes:.1f} min, {busy:.1f} min of CPU")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name the files that took most."""
        self._count("")
        most = self._config.getoption("costly")
        if most:
            terminalreporter.section("files that took most CPU")
            for file, seconds in sorted(self.taken.items(), key=lambda one: -one[1])[:most]:
                terminalreporter.write_line(f"{seconds:7.1f} s  {file}")

    def _count(self, file: str) -> None:
        """Note what the file before *file* has taken."""
        now = cpu()
        self.taken[self.file] = self.taken.get(self.file, 0.0) + now - self.since
        self.file, self.since = file, now
