"""Says where a long run is: at the first test of each room, the minutes that the run has taken so far."""

import time

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Begin to count; a process that only hands tests out says more than one that runs them."""
    if config.get_verbosity() >= 0 and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Rooms(config), "rooms")


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
