"""`async def` bodies share one loop, `def` bodies share threads; what does not end in time is given back and never lost."""

import asyncio
import threading
import time
from typing import Any

import pytest

from sedano import current, group
from sedano.engine.worker.pipeline import WorkerSettings
from sedano.errors import RemoteError
from sedano.model import states
from tests.stories.kept import assert_effects, assert_kept, succeeded
from tests.stories.processes import Processes
from tests.stories.shop import Shop
from tests.stories.stage import Stage, in_memory


def test_ten_tasks_that_wait_a_second_cost_little_more_than_one(shop: Shop) -> None:
    stage = in_memory()

    async def wait() -> None:
        await asyncio.sleep(1)

    shop.task("wait", wait)
    processes = Processes(stage, shop.app)
    shop.together(shop.app_sig("wait") for _ in range(10))
    began = time.monotonic()
    processes.deliver()
    assert time.monotonic() - began < 5, "one after the other they would take ten"
    processes.drain()
    assert_kept(stage, succeeded(wait=10))


def test_each_body_sees_its_own_task(stage: Stage, shop: Shop) -> None:
    async def who() -> str:
        before = current().id
        await asyncio.sleep(0)
        assert current().id == before
        return before

    shop.task("who", who)
    processes = Processes(stage, shop.app)
    results = group(shop.app_sig("who") for _ in range(5)).delay()
    processes.drain()
    assert results.get() == [result.id for result in results]


def test_a_mixed_batch_runs_both_kinds(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    shop.together([shop.soon.s(1), shop.add.s(1, 2), shop.soon.s(2), shop.fails.s()])
    processes.drain()
    assert_kept(stage, {**succeeded(soon=2, pack=2, add=1), ("fails", states.FAILURE): 1})


def test_threads_run_while_the_loop_waits(shop: Shop) -> None:
    """Each waits for the other: one after the other they would never end."""
    stage, pressed, answered = in_memory(), threading.Event(), threading.Event()

    def press() -> bool:
        pressed.set()
        return answered.wait(20)

    async def answer() -> bool:
        seen = await asyncio.to_thread(pressed.wait, 20)
        answered.set()
        return seen

    shop.task("press", press)
    shop.task("answer", answer)
    processes = Processes(stage, shop.app, WorkerSettings(concurrency=2, lanes=2))
    results = shop.together([shop.app_sig("answer"), shop.app_sig("press")])
    processes.drain()
    assert [result.get() for result in results] == [True, True]
    assert_kept(stage, succeeded(press=1, answer=1))


def test_as_many_bodies_run_at_once_as_the_concurrency_allows(shop: Shop) -> None:
    stage, meeting = in_memory(), threading.Barrier(3, timeout=20)
    shop.task("meet", lambda: meeting.wait() >= 0)
    processes = Processes(stage, shop.app, WorkerSettings(concurrency=3))
    results = shop.together(shop.app_sig("meet") for _ in range(9))
    processes.drain()
    assert [result.get() for result in results] == [True] * 9
    assert_kept(stage, succeeded(meet=9))


def test_a_body_that_hangs_is_cancelled_at_the_deadline_and_comes_back(shop: Shop) -> None:
    stage = in_memory()
    waits = [True]
    cancelled: list[str] = []

    async def hang() -> str:
        if not waits:
            return "at last"
        waits.clear()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(current().id)
            raise
        return "never"

    shop.task("hang", hang)
    processes = Processes(stage, shop.app)
    processes.invocation = 1.05
    hanging, neighbour = shop.together([shop.app_sig("hang"), shop.soon.s(1)])
    processes.deliver()
    assert cancelled == [hanging.id]
    assert (hanging.state, neighbour.state) == (states.RUNNING, states.SUCCESS)
    assert "no time left in this invocation" in stage.telemetry.messages("warning")
    processes.invocation = 30.0
    processes.drain()
    assert hanging.get() == "at last"
    assert_kept(stage, succeeded(hang=1, soon=1, pack=1))


def test_a_body_that_is_cancelled_by_itself_has_failed_and_is_not_lost(stage: Stage, shop: Shop) -> None:
    async def give_up() -> None:
        raise asyncio.CancelledError("by itself")

    shop.task("gives-up", give_up, retry=False)
    processes = Processes(stage, shop.app)
    result = shop.app.send_task("gives-up")
    processes.drain()
    with pytest.raises(RemoteError, match="CancelledError: by itself"):
        result.get()
    assert_kept(stage, {("gives-up", states.FAILURE): 1})


def test_a_body_that_cancels_its_own_task_has_failed_and_is_not_lost(stage: Stage, shop: Shop) -> None:
    async def give_up() -> None:
        own = asyncio.current_task()
        assert own is not None
        own.cancel("of its own accord")
        await asyncio.sleep(0)

    shop.task("gives-up", give_up, retry=False)
    processes = Processes(stage, shop.app)
    result = shop.app.send_task("gives-up")
    processes.drain()
    assert result.state == states.FAILURE
    assert_kept(stage, {("gives-up", states.FAILURE): 1})


def test_a_failing_async_body_is_retried_like_any_other(stage: Stage, shop: Shop) -> None:
    async def moody() -> int:
        if current().attempt < 1:
            raise RuntimeError("not yet")
        return current().attempt

    shop.task("moody", moody)
    processes = Processes(stage, shop.app)
    result = shop.app.send_task("moody")
    processes.drain()
    assert result.get() == 1


def test_a_body_is_not_begun_when_no_time_is_left(stage: Stage, shop: Shop) -> None:
    processes = Processes(stage, shop.app)
    processes.invocation = 0.5
    result = shop.add.delay(1, 2)
    processes.deliver()
    assert shop.ran["add"] == 0
    assert result.state == states.PENDING, "it was not even claimed"
    processes.invocation = 30.0
    processes.drain()
    assert_kept(stage, succeeded(add=1))


@pytest.mark.parametrize("hog", ["hog", "hog-async"])
@pytest.mark.parametrize("late", ["add", "soon"])
def test_what_was_claimed_and_not_begun_is_let_go(stage: Stage, shop: Shop, hog: str, late: str) -> None:
    """Whatever its kind: the first bodies use up the whole invocation, and the last one comes to no harm by it."""
    processes = Processes(stage, shop.app, WorkerSettings(lanes=0, poison_after=2))

    def use_up() -> None:
        stage.pass_time(processes.invocation)

    async def use_up_too() -> None:
        stage.pass_time(processes.invocation)

    shop.task("hog", use_up)
    shop.task("hog-async", use_up_too)
    for _ in range(4):
        shop.app.send_task(hog)
    result = shop.app.send_task(late, (1, 2) if late == "add" else (1,))
    processes.drain()
    assert result.state == states.SUCCESS
    assert stage.audit.effects()[(hog, states.SUCCESS)] == 4


def test_an_app_without_async_tasks_has_no_loop() -> None:
    plain = Shop()
    plain.app.registry.tasks.pop("soon")
    assert plain.app.run_loop() is None


def test_a_result_can_be_awaited(shop: Shop) -> None:
    stage = in_memory()
    processes = Processes(stage, shop.app)
    result: Any = shop.add.delay(2, 3)
    processes.drain()

    async def wait() -> int:
        value: int = await result
        return value

    assert asyncio.run(wait()) == 5
    assert_effects(stage, succeeded(add=1))
