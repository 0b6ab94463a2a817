"""Says where a long run is: the minutes at the first test of each room, and every test that has been running for minutes."""

import threading
import time

import pytest

LONG_S = 120.0
"""A test that runs for longer is named, and again each time it has run for twice as long."""


def pytest_configure(config: pytest.Config) -> None:
    """Begin to count; a process that only hands tests out says more than one that runs them."""
    if config.get_verbosity() >= 0 and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Rooms(config), "rooms")


class Rooms:
    """Knows the rooms that the run has reached, and the tests that are running."""

    def __init__(self, config: pytest.Config) -> None:
        """Begin now."""
        self.began, self.rooms, self._config = time.monotonic(), set[str](), config
        self._running: dict[str, tuple[float, float]] = {}  # when a test began, and after how long it is named next
        self._lock, self._ended = threading.Lock(), threading.Event()

    def pytest_sessionstart(self) -> None:
        """Begin to look for tests that take long."""
        threading.Thread(target=self._look, name="long tests", daemon=True).start()

    def pytest_sessionfinish(self) -> None:
        """Stop looking."""
        self._ended.set()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Say a line when a room begins."""
        with self._lock:
            self._running[nodeid] = (time.monotonic(), LONG_S)
        room = "/".join(nodeid.split("::", maxsplit=1)[0].split("/")[:2])
        if room not in self.rooms:
            self.rooms.add(room)
            self._say(f"{room}: begins after {(time.monotonic() - self.began) / 60:.1f} min")

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Forget a test that has ended."""
        with self._lock:
            self._running.pop(nodeid, None)

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str) -> None:
        """Forget a test that ended its process."""
        self.pytest_runtest_logfinish(crashitem)

    def long(self, now: float) -> list[str]:
        """Return a line for each test that is to be named now."""
        with self._lock:
            due = [(test, began, named) for test, (began, named) in self._running.items() if now - began >= named]
            self._running.update({test: (began, 2 * named) for test, began, named in due})
        return [f"{test}: running for {(now - began) / 60:.1f} min" for test, began, _ in due]

    def _look(self) -> None:
        while not self._ended.wait(LONG_S / 4):
            for line in self.long(time.monotonic()):
                self._say(line)

    def _say(self, line: str) -> None:
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if terminal is not None:
            terminal.ensure_newline()
            terminal.write_line(line)
