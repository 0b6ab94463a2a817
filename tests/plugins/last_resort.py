"""Ends a process that hangs where nothing else ends it, and says where each of its threads stood.

pytest-timeout ends a test by a signal, which Python meets between two of its own instructions: a call of C that never returns, or a
clean-up that waits for ever after the signal, is not ended, and neither is what happens after the last test. Here a thread of C ends the
process. A run of several processes says then which test it was, and goes on without it.
"""

import faulthandler
import os
import sys
from collections.abc import Generator

import pytest

GRACE_S = 180.0
"""How much longer than its own limit a test may take to end."""
FINISH_S = 300.0
"""The most that a process may take to end after its last test."""


STDERR, RUNNING = pytest.StashKey[int](), pytest.StashKey[bool]()


def pytest_configure(config: pytest.Config) -> None:
    """Keep the way to the process's own stderr: while a test runs, what is written there is captured."""
    assert sys.__stderr__ is not None
    config.stash[STDERR] = os.dup(sys.__stderr__.fileno())


def pytest_unconfigure(config: pytest.Config) -> None:
    """Close it; what ends a process that hangs may need it until the process is gone."""
    if not hasattr(config, "workerinput"):
        os.close(config.stash[STDERR])


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Give the test its limit and some grace."""
    item.stash[RUNNING] = True
    _end_late(item)
    try:
        return (yield)
    finally:
        item.stash[RUNNING] = False
        faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Give the clean-up as much again: of a test that failed, pytest takes the limit away. One whose phases another program calls alone has
    no limit, because nothing would take it away."""
    if item.stash.get(RUNNING, False):
        _end_late(item)


def _end_late(item: pytest.Item) -> None:
    if limit := limit_of(item):
        faulthandler.dump_traceback_later(limit + GRACE_S, exit=True, file=item.config.stash[STDERR])


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, object, object]:
    """Give what is left a limit too, in a process that runs tests for another one. One that ends it in time may wait for others, however
    long their tests take.
    """
    if hasattr(session.config, "workerinput"):
        faulthandler.dump_traceback_later(FINISH_S, exit=True, file=session.config.stash[STDERR])
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


def limit_of(item: pytest.Item) -> float:
    """Return the seconds that a test may take; 0.0 for one without a limit."""
    marker = item.get_closest_marker("timeout")
    return float(marker.args[0] if marker else item.config.getini("timeout") or 0.0)
