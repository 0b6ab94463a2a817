"""Says where a long run is: at the first test of each room, the minutes that the run has taken so far; at the end, on request
(`--costly=25`), which files took most CPU. That is the CPU of the processes that run tests and of their children that have ended, so a busy
machine does not change it; what a server that lives for the whole run takes is not in it.
"""

import os
import time
from typing import Any

import pytest

COLLECTING = "before the first test"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the number of files to name."""
    parser.addoption("--costly", type=int, default=0, metavar="N", help="name the N files of tests that took most CPU")


def pytest_configure(config: pytest.Config) -> None:
    """Begin to count; a process that only hands tests out says more than one that runs them."""
    config.pluginmanager.register(Costs(config), "costs")
    if config.get_verbosity() >= 0 and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Rooms(config), "rooms")


def cpu() -> float:
    """Return the seconds of CPU of this process and of those of its children that have ended."""
    return sum(os.times()[:4])


class Rooms:
    """Knows the rooms that the run has reached."""

    def __init__(self, config: pytest.Config) -> None:
        """Begin now."""
        self.began, self.rooms, self._config = time.monotonic(), set[str](), config

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Say a line when a room begins."""
        room = "/".join(nodeid.split("::", maxsplit=1)[0].split("/")[:2])
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if room not in self.rooms and terminal is not None:
            self.rooms.add(room)
            terminal.ensure_newline()
            terminal.write_line(f"{room}: begins after {(time.monotonic() - self.began) / 60:.1f} min")


class Costs:
    """Counts the CPU that each file takes in this process, and takes over what other processes of the run have counted."""

    def __init__(self, config: pytest.Config) -> None:
        """Begin now."""
        self.file, self.since, self._config = COLLECTING, cpu(), config
        self.taken: dict[str, float] = {}

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Note which file is run."""
        file = nodeid.split("::", maxsplit=1)[0]
        if file != self.file:
            self._count(file)

    def pytest_sessionfinish(self) -> None:
        """Hand the figures to the process that gives out the tests, where there is one."""
        self._count("")
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput["taken"] = self.taken

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over the figures of a process that has ended."""
        for file, seconds in getattr(node, "workeroutput", {}).get("taken", {}).items():
            self.taken[file] = self.taken.get(file, 0.0) + seconds

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name the files that took most."""
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
