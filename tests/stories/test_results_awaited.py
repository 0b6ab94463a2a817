"""Awaiting a result is as good as waiting for it: the same pauses, no thread held, and over when it is over."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from sedano import AsyncResult, ResultSet, chord, group, testing
from sedano.errors import ConfigurationError, RemoteError, Unavailable, WaitInsideTask
from sedano.memory import VirtualClock
from sedano.model import states
from sedano.model.ledger.records import TaskRecord
from sedano.ports import Ledger
from sedano.result import event_loop as awaiting
from sedano.result.waits import FIRST_PAUSE_S, GROWTH, MOST_PAUSE_S, Broken, EarlierTasks
from tests.stories.processes import Processes
from tests.stories.shop import Shop
from tests.stories.stage import Stage, in_memory
from tests.stories.workshop import Workshop

PATIENCE_S = 20.0
"""After so long on the machine's clock something that should have happened has not."""


@pytest.fixture
def processes(stage: Stage, shop: Shop) -> Processes:
    """The shop's processes on each stage."""
    return Processes(stage, shop.app)


class Noting(VirtualClock):
    """A virtual clock that notes who slept how long, and calls *then* after *after* pauses."""

    def __init__(self, start: float, after: int, then: Callable[[], None]) -> None:
        super().__init__(start)
        self.blocked, self.awaited = list[float](), list[float]()
        self.after, self.then = after, then

    def sleep(self, seconds: float) -> None:
        """Note that a thread slept."""
        self._slept(self.blocked, seconds)

    async def sleep_async(self, seconds: float) -> None:
        """Note that a coroutine slept."""
        self._slept(self.awaited, seconds)

    def _slept(self, noted: list[float], seconds: float) -> None:
        noted.append(seconds)
        if len(noted) == self.after:
            self.then()


class Counter:
    """A shop in memory whose result is waited for on a clock that notes the pauses; all is worked off after *after* of them."""

    def __init__(self, after: int) -> None:
        self.shop, self.stage = Shop(), in_memory()
        processes = Processes(self.stage, self.shop.app)
        self.clock = Noting(self.stage.clock.now(), after, processes.drain)
        self.shop.app.attach(replace(self.stage.ports, clock=self.clock))


class Slow:
    """A ledger that notes the sizes of reads. The first takes until *asked* is set, one of what is *bad* raises *error*."""

    def __init__(self, ledger: Ledger, bad: str = "", error: Exception | None = None) -> None:
        self.ledger, self.bad, self.error = ledger, bad, error
        self.asked, self.sizes = threading.Event(), list[int]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.ledger, name)

    def read(self, task_ids: Sequence[str]) -> dict[str, TaskRecord]:
        """Read."""
        self.sizes.append(len(task_ids))
        assert len(self.sizes) > 1 or self.asked.wait(PATIENCE_S)
        if self.error is not None and self.bad in task_ids:
            raise self.error
        return self.ledger.read(task_ids)


def wanted() -> int:
    """How many records the next read will ask for."""
    return sum(len(desk._open) for desk in awaiting._DESKS.values() if desk._next is not None)


async def together(results: Sequence[Any], slow: Slow) -> list[Any]:
    """What each of *results* says to whoever awaits it; all others ask while the first is read."""
    first = asyncio.create_task(its_value(results[0]))
    await until(lambda: len(slow.sizes) == 1)
    others = [asyncio.create_task(its_value(one)) for one in results[1:]]
    await until(lambda: wanted() == len(others))
    slow.asked.set()
    return await asyncio.gather(first, *others, return_exceptions=True)


async def until(true: Callable[[], bool]) -> None:
    """Let the loop go on until something is *true*."""
    async with asyncio.timeout(PATIENCE_S):
        while not true():  # noqa: ASYNC110 - the looks are counted on threads, which set no event of a loop
            await asyncio.sleep(0)


async def its_value(result: Any) -> Any:
    """What a coroutine that awaits *result* returns."""
    return await result


async def all_of(results: Any) -> list[Any]:
    """What an ``async for`` over *results* yields."""
    return [one async for one in results]


def never(shop: Shop, number: int) -> list[AsyncResult[Any]]:
    """Results of tasks that nobody published."""
    return [shop.app.result(f"never-{n}") for n in range(number)]


@pytest.mark.parametrize("many", [False, True])
def test_whoever_awaits_pauses_as_whoever_waits(many: bool) -> None:
    waiter, awaiter = Counter(14), Counter(14)
    results: list[Any] = [
        group(one.shop.add.s(n, n) for n in range(3)).delay() if many else one.shop.add.delay(1, 2) for one in (waiter, awaiter)
    ]
    assert results[0].get() == asyncio.run(its_value(results[1]))
    assert waiter.clock.blocked == awaiter.clock.awaited
    assert waiter.clock.blocked == pytest.approx([min(MOST_PAUSE_S, FIRST_PAUSE_S * GROWTH**n) for n in range(14)])
    assert waiter.clock.awaited == awaiter.clock.blocked == []
    assert waiter.stage.audit.reads == awaiter.stage.audit.reads


def test_a_wait_that_is_cancelled_is_over(stage: Stage, shop: Shop, processes: Processes) -> None:
    result = shop.add.delay(1, 2)

    async def cancel() -> int:
        before = stage.audit.reads
        waiting = asyncio.create_task(its_value(result))
        await until(lambda: stage.audit.reads - before >= 3)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await asyncio.get_running_loop().shutdown_default_executor()  # the look that was under way has ended
        return stage.audit.reads

    looked = asyncio.run(cancel())
    assert stage.audit.reads == looked, "nobody asks for whoever has gone"
    processes.drain()
    assert result.get() == 3


@pytest.mark.parametrize("many", [False, True])
def test_a_wait_with_a_limit_ends_with_it_and_so_does_the_program(many: bool) -> None:
    shop = Shop()
    with testing.world(shop.app):
        waiting: Any = ResultSet(never(shop, 3)) if many else never(shop, 1)[0]
        with pytest.raises(TimeoutError):
            asyncio.run(asyncio.wait_for(waiting, 0.02))


def test_however_many_wait_none_holds_up_another() -> None:
    shop, stage = Shop(), in_memory()
    processes = Processes(stage, shop.app)

    async def wait() -> Any:
        others = [asyncio.create_task(its_value(one)) for one in never(shop, 100)]
        before = stage.audit.reads
        await until(lambda: stage.audit.reads - before >= 100)
        result = shop.add.delay(1, 2)
        processes.drain()
        value = await asyncio.wait_for(result, PATIENCE_S)
        for other in others:
            other.cancel()
        return value

    assert asyncio.run(wait()) == 3
    assert {thread.name for thread in threading.enumerate() if thread.name.startswith("asyncio_")} == set()


@pytest.mark.parametrize(
    ("error", "sizes", "said"),
    [(None, [1, 99], 0), (Unavailable("away"), [1, 99], 99), (ConfigurationError("invalid"), [1, 99, *[1] * 99], 1)],
    ids=["read", "away", "refused"],
)
def test_what_many_await_is_read_together_and_what_is_wrong_with_one_is_nothing_to_the_others(
    error: Exception | None, sizes: list[int], said: int
) -> None:
    shop, stage = Shop(), in_memory()
    processes = Processes(stage, shop.app)
    ids = [one.id for one in shop.together(shop.add.s(n, n) for n in range(100))]
    processes.drain()
    slow: Any = Slow(stage.ports.ledger, ids[50], error)
    shop.app.attach(replace(stage.ports, ledger=slow))
    values = asyncio.run(together([shop.app.result(one) for one in ids], slow))
    assert slow.sizes == sizes
    assert [value for value in values if isinstance(value, Exception)] == [error] * said
    assert [value for value in values if not isinstance(value, Exception)] == [2 * n for n in range(100) if values[n] is not error]
    assert awaiting._DESKS == {}, "nothing is left of a loop that has ended"


def test_many_results_are_awaited_together() -> None:
    shop = Shop()
    with testing.world(shop.app) as world:

        async def wait() -> list[Any]:
            return await asyncio.gather(*(shop.add.s(n, 1).set(countdown=30 * (n % 2)).delay() for n in range(100)))

        began = world.clock.now()
        assert asyncio.run(wait()) == [n + 1 for n in range(100)]
        assert 30 <= world.clock.now() - began < 40, "a hundred who wait beside one another wait no longer than one"


def test_values_are_met_in_an_async_for_as_the_tasks_end(shop: Shop, processes: Processes) -> None:
    some, bad = group(shop.add.s(n, n) for n in range(3)).delay(), shop.fails.delay()
    late = shop.add.s(5, 5).set(countdown=60).delay()
    processes.drain()
    assert asyncio.run(all_of(some.iterate())) == [0, 2, 4]
    assert asyncio.run(all_of(ResultSet([late, *some]).iter_native())) == [(late, 10), *((some[n], 2 * n) for n in range(3))]
    assert [type(value).__name__ for _, value in asyncio.run(all_of(ResultSet([bad, late]).iter_native()))] == ["RemoteError", "int"]
    assert asyncio.run(all_of(ResultSet([]).iterate())) == []
    with pytest.raises(RemoteError, match="out of stock"):
        asyncio.run(all_of(ResultSet([bad]).iterate()))


def test_an_async_for_meets_whoever_ends_first() -> None:
    shop = Shop()
    with testing.world(shop.app):
        late, soon = shop.add.s(1, 1).set(countdown=60).delay(), shop.add.delay(2, 2)
        assert asyncio.run(all_of(ResultSet([late, soon]).iterate())) == [4, 2]


def test_what_follows_from_a_task_is_collected_in_an_async_for(shop: Shop, processes: Processes) -> None:
    result = shop.buy.delay("tea")
    whole = chord([shop.add.s(1, 1), shop.add.s(2, 2)], shop.total.s()).delay()
    processes.drain()
    assert [value for _, value in asyncio.run(all_of(result.collect()))] == ["tea"] * 3
    assert [value for _, value in asyncio.run(all_of(whole.collect()))] == [6]


def test_two_who_look_along_one_line_at_once_pass_over_no_task_of_it() -> None:
    line = EarlierTasks(["first", "second", "third"])
    ended, failed = TaskRecord("first", states.SUCCESS, 0), TaskRecord("second", states.FAILURE, 0)

    class Meanwhile(dict[str, TaskRecord]):
        """Records, while whose first is looked at another thread learns the same."""

        def get(self, key: str, default: Any = None) -> Any:
            if self.pop("another", None) is not None:
                line.learn({"first": ended})
            return super().get(key, default)

    line.learn(Meanwhile(first=ended, another=ended))
    assert line.ahead()[0] == "second"
    with pytest.raises(Broken):
        line.learn({"second": failed})


def test_a_run_is_awaited_beside_others_and_to_a_limit(workshop: Workshop) -> None:
    async def both() -> list[dict[str, Any]]:
        return await asyncio.gather(*(workshop.fulfil.delay(order=n) for n in (7, 8)))

    with testing.world(workshop.app) as world:
        assert asyncio.run(both()) == [{"ship": ["TEA", "POT", None]}] * 2
        held = workshop.fulfil.delay(order=9)
        world.step()
        held.pause()
        with pytest.raises(TimeoutError):
            asyncio.run(asyncio.wait_for(held, 0.05))
        assert held.state == "PAUSED"


def test_two_loops_in_two_threads_await_one_result(shop: Shop, processes: Processes) -> None:
    result, found = shop.add.delay(1, 2), list[Any]()
    processes.drain()
    threads = [threading.Thread(target=lambda: found.append(asyncio.run(its_value(result)))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert found == [3, 3]


def test_an_async_body_that_awaits_another_task_is_told_so(shop: Shop, processes: Processes) -> None:
    tried = []

    async def waits() -> Any:
        tried.append(1)
        return await shop.add.delay(1, 1)

    result = shop.task("waits", waits).delay()
    processes.drain()
    assert result.result.type_name == WaitInsideTask.__name__
    assert tried == [1], "trying again cannot help"
