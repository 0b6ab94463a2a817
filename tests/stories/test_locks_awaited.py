"""Locks where an event loop runs: whoever would hold it up is told what to write, and whoever is cancelled leaves nothing held."""

import asyncio
import threading
from collections.abc import Callable

import pytest

from sedano.errors import LeaseTaken, WaitInsideLoop
from tests.stories.fleet import Fleet
from tests.stories.processes import Processes
from tests.stories.shop import Shop
from tests.stories.stage import in_memory

DURATION, PATIENCE_S = 30.0, 20.0


def test_a_lock_that_would_hold_up_an_event_loop_says_what_to_write(fleet: Fleet) -> None:
    one, two = fleet.process(), fleet.process()
    lock = one.app.lock("x", duration=DURATION)
    plain: list[Callable[[], object]] = [lock.acquire, lock.__enter__]

    async def take() -> set[str]:
        told = set()
        for taking in plain:
            with pytest.raises(WaitInsideLoop) as refused:
                taking()
            told.add(str(refused.value))
        assert one.wire.calls.total() == 0, "nothing was asked for"
        lease = lock.try_acquire()
        assert lease is not None, "a look holds nothing up"
        with pytest.raises(LeaseTaken):
            await two.app.lock("x", duration=DURATION, timeout=3).acquire_async()
        lease.release()
        return told

    (words,) = asyncio.run(take())
    assert "`async with app.lock(…)`, or `await lock.acquire_async()`; `lock.try_acquire()` does not wait" in words
    with lock as lease:
        assert lease.valid(), "the loop has ended"


def test_an_async_body_that_takes_a_lock_plainly_is_told_so_once() -> None:
    shop, tried = Shop(), []
    processes = Processes(in_memory(), shop.app)

    async def takes() -> None:
        tried.append(1)
        with shop.app.lock("x"):
            tried.append(2)

    result = shop.task("takes", takes).delay()
    processes.drain()
    assert result.result.type_name == WaitInsideLoop.__name__
    assert tried == [1], "trying again cannot help"


def test_whoever_is_cancelled_while_the_lock_is_being_taken_does_not_hold_it(fleet: Fleet) -> None:
    one, two = fleet.process(), fleet.process()

    async def take() -> None:
        loop, cancelled = asyncio.get_running_loop(), threading.Event()
        taking = asyncio.create_task(one.app.lock("x", duration=DURATION).acquire_async())

        def cancel() -> None:
            taking.cancel()
            loop.call_soon(cancelled.set)

        def while_it_is_written() -> None:
            if one.wire.calls["take"] and not cancelled.is_set():
                loop.call_soon_threadsafe(cancel)
                assert cancelled.wait(PATIENCE_S)

        one.wire.travel = while_it_is_written
        with pytest.raises(asyncio.CancelledError):
            await taking

    asyncio.run(take())
    assert one.wire.calls["take"] == one.wire.calls["release"] == 1
    assert two.app.lock("x", duration=DURATION).try_acquire() is not None
