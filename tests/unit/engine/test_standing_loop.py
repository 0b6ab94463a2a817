"""The loop that outlives a batch, alone: it beats, and ends the body of a revoked task without ending another."""

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from sedano.engine.batch import Ran
from sedano.engine.worker.standing_loop import StandingLoop
from tests.unit.engine.test_body_loops import Loop, ends, hangs, ready


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


def test_each_beat_is_a_second_after_the_one_before(loop: StandingLoop, beaten: threading.Event) -> None:
    assert beaten.wait(20)
    later, real = list[Any](), loop._loop
    beaten.clear()
    stands_in: Any = SimpleNamespace(call_later=lambda *given: later.append(given))
    loop._loop = stands_in
    loop._turn()
    loop._loop = real
    assert (beaten.is_set(), later) == (True, [(1.0, loop._turn)])


def test_a_cut_cancels_the_bodies_that_run_and_none_begins_afterwards(loop: StandingLoop) -> None:
    bodies, runs, on = Loop(60.0), list[Ran](), list[str]()

    async def cuts() -> None:
        on.append(threading.current_thread().name)
        loop.cut()
        await hangs()

    def late(*bodies_of: Any) -> list[tuple[str, bool]]:
        found = loop.run_together([ready(name, body) for name, body in bodies_of], bodies.execution, bodies.batch, runs.append)
        return [(held.job.command.id, begun) for held, begun in found]

    assert late(("a", ends), ("b", ends)) == []
    assert late(("c", cuts)) == [("c", True)]
    assert late(("d", ends)) == [("d", False)]
    assert ([ran.held.job.command.id for ran in runs], on) == (["a", "b"], ["sedano-event-loop"])


def test_a_loop_that_was_closed_leaves_no_thread_and_no_open_file() -> None:
    made = StandingLoop()
    made.close()
    assert (made._loop.is_closed(), made._thread.is_alive()) == (True, False)
