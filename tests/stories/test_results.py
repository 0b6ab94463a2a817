"""Results: what a handle tells, how it waits, and what it costs; of one task."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from sedano import AsyncResult, GroupResult, group
from sedano.errors import NoResult, RemoteError, ResultTimeout, TaskRevoked, WaitInsideLoop, WaitInsideTask
from sedano.result.waits import READ_AT_ONCE
from tests.stories.processes import Processes
from tests.stories.shop import Shop
from tests.stories.stage import Stage


@pytest.fixture
def processes(stage: Stage, shop: Shop) -> Processes:
    """The processes of the shop; waiting for a result lets them work."""
    return Processes(stage, shop.app)


def told(result: AsyncResult[Any]) -> dict[str, Any]:
    """Return what a handle tells without waiting."""
    names = ("state", "status", "result", "info", "traceback", "retries")
    asked = {name: getattr(result, name)() for name in ("ready", "successful", "failed", "waiting")}
    return {name: getattr(result, name) for name in names} | asked


def after(shop: Shop, parent: Any, task: str = "pack") -> AsyncResult[Any]:
    """Return the result of a task that was never published, because what it waits for did not end well."""
    return AsyncResult(shop.app.outlet, f"after {parent.id}", parent=parent, name=task)


def test_a_task_that_nobody_has_run_is_pending(shop: Shop, processes: Processes) -> None:
    nothing = {"state": "PENDING", "status": "PENDING", "result": None, "info": None, "traceback": None, "retries": None}
    assert told(shop.add.delay(1, 2)) == {**nothing, "ready": False, "successful": False, "failed": False, "waiting": True}
    assert processes.generation == 1


def test_a_task_that_ended_well_tells_its_value_and_is_read_once(stage: Stage, shop: Shop, processes: Processes) -> None:
    result = shop.add.delay(1, 2)
    processes.drain()
    before = stage.audit.reads
    done = {"state": "SUCCESS", "status": "SUCCESS", "result": 3, "info": 3, "traceback": None, "retries": 0}
    assert told(result) == {**done, "ready": True, "successful": True, "failed": False, "waiting": False}
    assert (result.get(), result.maybe_throw()) == (3, 3)
    assert stage.audit.reads == before + 1


def test_a_task_that_failed_tells_its_exception_as_data(shop: Shop, processes: Processes) -> None:
    result = shop.fails.delay()
    processes.drain()
    assert (result.state, result.ready(), result.failed(), result.successful()) == ("FAILURE", True, True, False)
    assert isinstance(result.result, RemoteError)
    assert (result.result.type_name, result.result.message, result.result.task_id) == ("ValueError", "out of stock", result.id)
    assert result.traceback is not None
    assert "ValueError: out of stock" in result.traceback
    assert str(result.get(propagate=False)) == "ValueError: out of stock"
    for raising in (result.get, result.maybe_throw):
        with pytest.raises(RemoteError, match=r"^ValueError: out of stock$"):
            raising()


def test_a_task_that_was_revoked_says_so(shop: Shop, processes: Processes) -> None:
    result = shop.add.delay(1, 2)
    result.revoke()
    processes.drain()
    assert (result.state, result.failed(), shop.ran["add"]) == ("REVOKED", True, 0)
    with pytest.raises(TaskRevoked, match=result.id):
        result.get()


def test_what_was_forgotten_is_said_to_be_forgotten_and_never_passes_for_none(shop: Shop, processes: Processes) -> None:
    good, bad, silent = shop.add.delay(1, 2), shop.fails.delay(), shop.add.apply_async((1, 2), ignore_result=True)
    processes.drain()
    assert good.get() == 3
    good.forget()
    bad.forget()
    assert (good.state, bad.state) == ("SUCCESS", "FAILURE")
    for result in (good, bad, shop.app.result(good.id)):
        with pytest.raises(NoResult, match=r"ended as (SUCCESS|FAILURE), but its result was forgotten"):
            result.get()
    with pytest.raises(NoResult, match="nothing to wait for"):
        silent.get()
    with pytest.raises(NoResult, match="keeps no result"):
        shop.app.result(silent.id).get()


def test_a_task_that_never_runs_because_one_before_it_failed_raises_what_that_one_raised(shop: Shop, processes: Processes) -> None:
    first = shop.fails.delay()
    last = after(shop, after(shop, after(shop, first)))
    processes.drain()
    assert (last.state, last.ready(), last.failed()) == ("FAILURE", True, True)
    with pytest.raises(RemoteError, match="out of stock") as caught:
        last.get()
    assert caught.value.task_id == first.id
    assert isinstance(last.get(propagate=False), RemoteError)
    last.parent.forget()
    with pytest.raises(NoResult, match="forgotten"):
        after(shop, first).get()


def test_a_task_that_never_runs_because_one_before_it_was_revoked_raises_that(shop: Shop, processes: Processes) -> None:
    first = shop.add.delay(1, 1)
    first.revoke()
    processes.drain()
    with pytest.raises(TaskRevoked, match=first.id):
        after(shop, first).get()
    members = GroupResult([after(shop, first), after(shop, first)], group_id="g", parent=first)
    assert (members.ready(), members.failed(), members.successful()) == (True, True, False)
    with pytest.raises(TaskRevoked, match=first.id):
        members.get()


def test_a_task_that_ran_is_believed_whatever_an_ancestor_says(shop: Shop, processes: Processes) -> None:
    bad, good = shop.fails.delay(), shop.add.delay(1, 2)
    processes.drain()
    assert AsyncResult(shop.app.outlet, good.id, parent=bad).get() == 3


def test_waiting_late_in_a_long_chain_reads_its_steps_together_and_each_once(stage: Stage, shop: Shop, processes: Processes) -> None:
    steps = group(shop.add.s(n, n) for n in range(READ_AT_ONCE + 20)).delay()
    processes.drain()
    last: AsyncResult[Any] | None = None
    for step in steps:
        last = AsyncResult(shop.app.outlet, step.id, parent=last)
    missing = after(shop, last)
    before = stage.audit.reads
    assert not missing.ready()
    assert stage.audit.reads - before <= 8
    before = stage.audit.reads
    assert not missing.ready()
    assert stage.audit.reads - before == 1


def test_waiting_ends_with_the_callers_patience_and_says_what_is_missing(stage: Stage, shop: Shop, processes: Processes) -> None:
    result, some = shop.add.delay(1, 2), group(shop.add.s(n, n) for n in range(3)).delay()
    for waiting, said in ((result, "is PENDING and did not end within 5 s"), (some, "number 0 of 3, and perhaps others did not end")):
        began = stage.clock.now()
        with pytest.raises(ResultTimeout, match=said):
            waiting.get(timeout=5)
        assert stage.clock.now() - began == pytest.approx(5)
    assert processes.generation == 1


def test_a_task_that_waits_for_another_is_told_so(shop: Shop, processes: Processes) -> None:
    some = group(shop.add.s(1, 1))
    waits = [lambda: shop.add.delay(1, 1).get(), lambda: some.delay().get(), lambda: list(some.delay().iterate())]
    results = [shop.task(f"waits{n}", body).delay() for n, body in enumerate(waits)]
    processes.drain()
    assert {r.result.type_name for r in results} == {WaitInsideTask.__name__}
    assert [shop.ran[f"waits{n}"] for n in range(3)] == [1, 1, 1], "trying again cannot help"


def test_a_result_knows_what_its_task_published(shop: Shop, processes: Processes) -> None:
    result = shop.buy.delay("tea")
    assert result.children == []
    processes.drain()
    assert sorted(child.name for child in result.children) == ["label", "pack"]
    assert [(child.parent, child.parent_id, child.root_id) for child in result.children] == [(result, result.id, result.id)] * 2
    assert [value for _, value in result.collect()] == ["tea", "tea", "tea"]


def test_whoever_waits_where_an_event_loop_runs_is_told_what_to_await(shop: Shop, processes: Processes) -> None:
    one, some = shop.add.delay(1, 2), group(shop.add.s(n, n) for n in range(3)).delay()
    once = shop.add.s(3, 4).set(dedup_key="once", on_duplicate="wait")
    waits: list[Callable[[], object]] = [one.get, one.wait, lambda: list(one.collect()), some.get, lambda: list(some.iterate()), once.delay]

    async def wait() -> set[str]:
        told = set()
        for waiting in waits:
            with pytest.raises(WaitInsideLoop) as refused:
                waiting()
            told.add(str(refused.value))
        assert (one.ready(), one.result, some.ready()) == (False, None, False), "a look holds nothing up"
        return told

    (words,) = asyncio.run(wait())
    assert "write `await result`" in words
    assert "with a limit `await asyncio.wait_for(result, 10)`, as they arrive `async for value in results.iterate()`" in words
    processes.drain()
    assert shop.ran["add"] == 4, "a call that would have waited was not published"
    assert asyncio.run(asyncio.wait_for(one, 10)) == 3
    assert one.get() == 3, "the loop has ended"


def test_results_are_awaited(shop: Shop, processes: Processes) -> None:
    one, some, bad = shop.add.delay(1, 2), group(shop.add.s(n, n) for n in range(3)).delay(), shop.fails.delay()
    processes.drain()

    async def wait() -> tuple[Any, Any]:
        return await one, await some

    assert asyncio.run(wait()) == (3, [0, 2, 4])

    async def fail() -> None:
        await bad

    with pytest.raises(RemoteError, match="out of stock"):
        asyncio.run(fail())


