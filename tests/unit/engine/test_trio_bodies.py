"""One call of a body under trio, alone: its end, its error, and a cancellation that arrives early, late or more than once."""

import asyncio
import threading
from typing import Any

import pytest
import trio

from sedano.engine.worker.trio_bodies import TrioRun, run_in_trio


async def hangs() -> None:
    """A body that does not end."""
    await trio.sleep_forever()


async def seven() -> int:
    """A body that ends."""
    await trio.lowlevel.checkpoint()
    return 7


def test_a_body_that_is_cancelled_before_it_begins_ends_at_its_first_checkpoint() -> None:
    ended: list[bool] = []
    run = TrioRun(hangs, lambda: ended.append(True))
    run.cancel()
    run.work()
    assert (run.cut, run.error, ended) == (True, None, [True])


def test_a_cancellation_after_the_end_changes_nothing() -> None:
    run = TrioRun(seven, lambda: None)
    run.work()
    run.cancel()
    assert (run.value, run.cut, run.error) == (7, False, None)


def test_a_body_that_cannot_begin_ends_with_its_error() -> None:
    """Under trio there is no second loop on the same thread."""

    async def within() -> BaseException | None:
        run = TrioRun(seven, lambda: None)
        run.work()
        return run.error

    assert isinstance(trio.run(within), RuntimeError)


def test_a_cancellation_waits_until_the_body_has_ended_and_a_second_one_does_too() -> None:
    begun, on, cleaned = threading.Event(), threading.Event(), list[bool]()

    async def cleans() -> None:
        begun.set()
        try:
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(on.wait, 20)
            cleaned.append(True)

    async def cancels() -> bool:
        task = asyncio.create_task(run_in_trio(cleans))
        await asyncio.to_thread(begun.wait, 20)
        for _ in range(2):
            task.cancel()
            await asyncio.sleep(0)
        on.set()
        await asyncio.wait([task])
        return task.cancelled()

    assert (asyncio.run(cancels()), cleaned) == (True, [True])


@pytest.mark.parametrize("error", [ValueError("wrong"), SystemExit(3)])
def test_an_error_of_the_body_is_raised_where_it_is_awaited_without_frames_of_trio(error: BaseException) -> None:
    async def fails() -> None:
        raise error

    async def awaited() -> Any:
        try:
            await run_in_trio(fails)
        except BaseException as raised:  # noqa: BLE001 - the test looks at it
            return raised

    raised, names = asyncio.run(awaited()), list[str]()
    frames = raised.__traceback__
    while frames is not None:
        names.append(frames.tb_frame.f_code.co_name)
        frames = frames.tb_next
    assert (raised is error, names) == (True, ["awaited", "run_in_trio", "fails"])
