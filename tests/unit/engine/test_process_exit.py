"""The end of a program: what is registered when it connects, once, and only where it may be."""

import atexit
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from sedano.engine.publisher.process_exit import survive_exit


class Outlet:
    """Stands for a program's outlet."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def resume(self) -> None:
        """Send what an earlier process stored, later."""
        self.calls.append("resume")

    def close(self) -> None:
        """Send the rest."""
        self.calls.append("close")


@pytest.fixture
def outlet() -> Iterator[Any]:
    """An outlet, in a process that a signal ends; afterwards nothing is registered."""
    made, before = Outlet(), signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield made
    signal.signal(signal.SIGTERM, before)
    atexit.unregister(made.close)


def test_a_program_that_connects_sends_the_rest_at_its_end_and_on_sigterm(outlet: Any) -> None:
    registered = atexit._ncallbacks()
    survive_exit(outlet)
    assert (outlet.calls, atexit._ncallbacks()) == (["resume"], registered + 1)
    handler: Any = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit) as ended:
        handler(signal.SIGTERM, None)
    assert ended.value.code == 143


def test_a_handler_of_the_program_s_own_stays(outlet: Any) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    survive_exit(outlet)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN


def test_a_thread_that_connects_sets_no_handler_because_only_the_main_thread_can(outlet: Any) -> None:
    errors: list[BaseException] = []

    def connect() -> None:
        try:
            survive_exit(outlet)
        except ValueError as error:
            errors.append(error)

    thread = threading.Thread(target=connect)
    thread.start()
    thread.join()
    assert (errors, outlet.calls) == ([], ["resume"])
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
