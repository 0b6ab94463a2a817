"""The processes of one box in one worker: which of them gets a call, which is replaced, and how they end."""

import asyncio
import atexit
import os
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from sedano.engine.boxes.child import BoxProcess
from sedano.engine.boxes.pool import GRACE_S, MOST_LINES, Pool
from sedano.engine.task_context import CURRENT
from sedano.engine.task_log import TELEMETRY
from sedano.errors import BoxCrashed
from sedano.memory import MemoryTelemetry
from tests.unit.engine.boxed import ANSWERS, CONTEXT, QUICKLY, ended, shell

Made = Callable[..., Pool]
pytestmark = QUICKLY


@pytest.fixture
def made() -> Iterator[Made]:
    """Makes pools, whose processes end with the test."""
    pools: list[Pool] = []

    def make(script: str = ANSWERS, **options: Any) -> Pool:
        pools.append(Pool(shell(script, timeout=5.0, **options)))
        return pools[-1]

    yield make
    for pool in pools:
        for child in pool._idle:
            child.kill()
        atexit.unregister(pool._leave)


def run(test: Coroutine[Any, Any, Any], telemetry: MemoryTelemetry | None = None) -> Any:
    """Run *test* as the body of a task."""

    async def body() -> Any:
        CURRENT.set(CONTEXT)
        TELEMETRY.set(telemetry)
        return await test

    return asyncio.run(body())


def called(pool: Pool, telemetry: MemoryTelemetry | None = None) -> Any:
    """Return the answer to a call."""
    return run(pool.call((), {}), telemetry)


def idle(pool: Pool) -> list[int]:
    """Return the processes without a call."""
    return [child.pid for child in pool._idle]


def is_reaped(child: BoxProcess) -> bool:
    """Return whether *child* has ended and this process knows it."""
    return child._process.returncode is not None


def test_a_process_stays_for_the_next_call(made: Made) -> None:
    pool = made()
    first = called(pool)
    assert called(pool) == first
    assert idle(pool) == [first]
    assert pool._called == set()


def test_calls_at_once_run_in_processes_of_their_own_up_to_the_pool(made: Made) -> None:
    pool = made(pool=2)

    async def three() -> list[int]:
        return await asyncio.gather(*(pool.call((), {}) for _ in range(3)))

    answers = run(three())
    assert len({*answers}) == 2
    assert {*idle(pool)} == {*answers}
    assert called(pool) == idle(pool)[-1], "the warmest one"


def test_a_process_is_killed_after_as_many_calls_as_the_plan_says(made: Made) -> None:
    pool = made(calls_per_child=2)
    first = called(pool)
    (child,) = pool._idle
    assert called(pool) == first
    assert is_reaped(child)
    assert idle(pool) == []
    assert called(pool) != first


def test_a_process_without_a_valid_reply_is_killed_and_the_next_call_gets_another_one(made: Made) -> None:
    pool = made("read line; exec >&-; exit 3")
    for _ in range(2):
        with pytest.raises(BoxCrashed):
            called(pool)
    assert (idle(pool), pool._called, pool._turns._busy) == ([], set(), 0)


def test_a_process_that_has_ended_between_two_calls_is_replaced(made: Made) -> None:
    pool = made(ANSWERS.replace("done", "exit; done"))
    first = called(pool)
    (child,) = pool._idle
    ended(child)
    assert called(pool) != first
    assert is_reaped(child)


def test_the_first_call_shows_what_a_runtime_reserves_if_its_memory_is_limited(made: Made) -> None:
    limited, free = made(memory=64 << 20), made()
    called(limited)
    called(free)
    assert isinstance(limited._reserved, int)
    assert free._reserved is None
    limited._reserved = 5
    called(limited)
    assert limited._reserved == 5


def test_the_lines_of_a_call_are_logged_under_its_task(made: Made) -> None:
    telemetry = MemoryTelemetry()
    called(made("echo progress; " + ANSWERS), telemetry)
    ((words, fields),) = [(line.message, dict(line.fields)) for line in telemetry.lines]
    assert (words, fields) == ("progress", {"box": "box", "stream": "stdout", "task_id": "a", "attempt": CONTEXT.attempt})


@pytest.mark.parametrize(("written", "logged"), [(MOST_LINES - 1, 0), (MOST_LINES + 5, 1)])
def test_the_lines_of_a_call_are_logged_up_to_the_999th_and_then_it_is_said_once(made: Made, written: int, logged: int) -> None:
    telemetry = MemoryTelemetry()
    called(made(f"yes | head -n {written}; " + ANSWERS), telemetry)
    assert telemetry.messages("info") == ["y"] * 999
    assert telemetry.messages("warning") == ["this call has logged 1000 lines; further lines are not logged"] * logged


def test_a_call_outside_a_worker_logs_nothing(made: Made) -> None:
    assert called(made("echo progress; " + ANSWERS)) > 0


def test_the_end_of_a_pool_lets_its_processes_end_and_logs_their_last_lines(made: Made) -> None:
    telemetry = MemoryTelemetry()
    pool = made(ANSWERS + "sleep 0.02; echo bye >&2")
    called(pool, telemetry)
    (child,) = pool._idle
    pool.close()
    assert is_reaped(child)
    assert child._process.returncode == 0
    assert child.last_line == "bye"
    assert idle(pool) == []


def test_a_pool_whose_processes_end_soon_is_waited_for_no_longer(made: Made) -> None:
    seconds = []
    for _ in range(3):  # a busy machine may hold one of them up
        pool = made(ANSWERS + "sleep 0.01")
        called(pool)
        began = time.monotonic()
        pool.close()
        seconds.append(time.monotonic() - began)
    assert min(seconds) < GRACE_S / 2


def test_a_process_that_goes_on_after_the_end_of_its_input_is_killed(made: Made) -> None:
    pool = made(ANSWERS + "sleep 60")
    called(pool)
    (child,) = pool._idle
    pool.close()
    assert is_reaped(child)


def test_the_exit_of_the_worker_kills_the_processes_that_run_a_call(made: Made) -> None:
    before = atexit._ncallbacks()
    pool = made("read line; read more")
    assert atexit._ncallbacks() == before + 1

    async def exits() -> None:
        call = asyncio.create_task(pool.call((), {}))
        await asyncio.sleep(0)
        (child,) = pool._called
        pool._leave()
        assert is_reaped(child)
        call.cancel()
        await asyncio.wait([call])

    run(exits())


def test_the_exit_of_the_worker_ends_the_idle_processes(made: Made) -> None:
    pool = made()
    called(pool)
    (child,) = pool._idle
    pool._leave()
    assert child._process.returncode == 0


def test_a_process_that_was_forked_leaves_the_processes_to_its_parent(made: Made) -> None:
    pool = made()
    first = called(pool)
    (child,) = pool._idle
    pool._called.add(child)
    pool._owner = -1
    assert called(pool) != first
    assert first not in idle(pool)
    assert (pool._owner, pool._called) == (os.getpid(), set())
    assert not is_reaped(child)
    assert all(file.closed for file in child._files)
    child.kill()


def test_a_forked_process_that_exits_ends_no_process_of_its_parent(made: Made) -> None:
    pool = made()
    called(pool)
    (child,) = pool._idle
    pool._called.add(child)
    pool._owner = -1
    pool._leave()
    assert (child.status(), is_reaped(child)) == (None, False)
    assert not any(file.closed for file in child._files)
    child.kill()
