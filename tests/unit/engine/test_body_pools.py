"""The threads and the turns of bodies alone: how many begin at once, and the load and the time at which the budget's rule is asked."""

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from sedano import memory
from sedano.engine.worker.body_concurrency import pool, turns
from sedano.engine.worker.body_coroutines import Turns
from sedano.engine.worker.body_threads import BudgetedThreads
from sedano.model.budgets import Budget, Level, Load


class Rule:
    """A strategy that notes each question and allows so many bodies."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.asked: list[tuple[int, Load, float]] = []

    def __call__(self, _: Budget, level: Level, load: Load, now: float) -> Level:
        """Allow them."""
        self.asked.append((level.limit, load, now - memory.START))
        return Level(self.limit)


@pytest.fixture
def clock() -> memory.VirtualClock:
    """A clock that began two seconds ago."""
    found = memory.VirtualClock(memory.START)
    found.advance(2.0)
    return found


def test_without_a_budget_one_body_runs_inline_and_more_run_on_as_many_threads(clock: memory.VirtualClock) -> None:
    assert pool(None, 1, clock) is None
    assert turns(None, clock) is None
    with pool(None, 2, clock) or pytest.fail("it has threads") as threads:
        assert (type(threads), threads._max_workers, threads._thread_name_prefix) == (ThreadPoolExecutor, 2, "sedano-body")


def test_under_a_budget_even_one_body_runs_on_a_thread_and_in_its_turn(clock: memory.VirtualClock) -> None:
    budget, rule = Budget(least=2, most=5), Rule(3)
    with pool((budget, rule), 1, clock) or pytest.fail("it has threads") as threads:
        assert isinstance(threads, BudgetedThreads)
        assert (threads.limit, threads._max_workers) == (2, 5)
        assert threads.submit(lambda *args, **names: (args, names), 1, 2, name=3).result(20) == ((1, 2), {"name": 3})
        assert threads.limit == 3
    found = turns((budget, rule), clock)
    assert found is not None
    assert found.limit == 2


def test_the_rule_of_threads_is_asked_when_a_body_is_submitted_and_when_one_ends(clock: memory.VirtualClock) -> None:
    rule, first, second = Rule(1), Future[Any](), Future[Any]()
    with BudgetedThreads(Budget(least=1, most=4), rule, clock) as threads:
        answers = [threads.submit(first.result, 20), threads.submit(second.result, 20)]
        assert rule.asked == [(1, Load(1, 0), 2.0), (1, Load(1, 1), 2.0)]
        first.set_result("first")
        assert answers[0].result(20) == "first"
        second.set_exception(ValueError("second"))
        with pytest.raises(ValueError, match="second"):
            answers[1].result(20)
    assert rule.asked[2:] == [(1, Load(1, 0), 2.0), (1, Load(0, 0), 2.0)]


def test_a_body_that_was_cancelled_before_its_turn_takes_none(clock: memory.VirtualClock) -> None:
    rule, began = Rule(1), list[str]()
    given = Turns(Budget(least=1, most=4), rule, clock)

    async def body(name: str, until: asyncio.Event) -> None:
        async with given.turn():
            began.append(name)
            await until.wait()

    async def three() -> None:
        until = asyncio.Event()
        tasks = [asyncio.create_task(body(name, until)) for name in "abc"]
        await asyncio.sleep(0)
        tasks[1].cancel()
        await asyncio.sleep(0)
        until.set()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(three())
    assert began == ["a", "c"]
    loads = [(1, 0), (1, 1), (2, 1), (1, 1), (1, 0), (0, 0)]
    assert rule.asked == [(1, Load(*load), 2.0) for load in loads]


def test_a_body_that_an_error_ended_before_its_turn_waits_for_none_and_gives_none_back(clock: memory.VirtualClock) -> None:
    rule = Rule(1)
    given = Turns(Budget(least=1, most=4), rule, clock)

    async def two() -> None:
        async with given.turn():
            waits = given.turn().__aenter__()
            waits.send(None)
            with pytest.raises(KeyboardInterrupt):
                waits.throw(KeyboardInterrupt())

    asyncio.run(two())
    assert [load for _, load, _ in rule.asked] == [Load(1, 0), Load(1, 1), Load(0, 1), Load(0, 0)]
