"""Says where a long run is: at the first test of each room, the minutes that the run has taken so far, of the clock and of CPU."""

import os
import time

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Begin to count, unless little shall be said."""
    if config.get_verbosity() >= 0:
        config.pluginmanager.register(Elapsed(config), "elapsed")


def cpu() -> float:
    """Return the seconds of CPU of this process and of those of its children that have ended."""
    return sum(os.times()[:4])


class Elapsed:
    """Knows the room that the run is in."""

    def __init__(self, config: pytest.Config) -> None:
        """Begin now."""
        self.began, self.room, self._config = time.monotonic(), "", config

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Say a line when a room begins."""
        room = "/".join(nodeid.split("::", maxsplit=1)[0].split("/")[:2])
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if room != self.room and terminal is not None:
            self.room = room
            minutes, busy = (time.monotonic() - self.began) / 60, cpu() / 60
            terminal.ensure_newline()
            terminal.write_line(f"{room}: begins after {minutes:.1f} min, {busy:.1f} min of CPU")
