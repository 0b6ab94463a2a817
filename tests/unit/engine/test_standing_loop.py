"""The loop that outlives a batch, alone: it beats, and ends the body of a revoked task without ending another."""

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from sedano.engine.worker.standing_loop import StandingLoop


@pytest.fixture
def beaten() -> threading.Event:
    """Is set by each beat."""
    return threading.Event()


@pytest.fixture
def loop(beaten: threading.Event) -> Any:
    """A loop that runs."""
    made = StandingLoop(beaten.set)
    yield made
    made.close()


def test_an_async_body_of_a_revoked_task_is_cancelled_on_the_loop(loop: StandingLoop) -> None:
    cancelled, on = threading.Event(), list[str]()

    def cancel() -> None:
        on.append(threading.current_thread().name)
        cancelled.set()

    context: Any = SimpleNamespace(cancel=cancel, revoked=False)
    assert loop.end_revoked(context) is True
    assert cancelled.wait(20)
    assert (context.revoked, on) == (True, ["sedano-event-loop"])


def test_a_body_on_a_thread_is_not_ended_by_the_loop(loop: StandingLoop) -> None:
    context: Any = SimpleNamespace(cancel=None, revoked=False)
    assert loop.end_revoked(context) is False
    assert context.revoked is False


def test_the_loop_beats_from_its_start_on(loop: StandingLoop, beaten: threading.Event) -> None:
    assert beaten.wait(20)
