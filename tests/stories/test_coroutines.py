"""Stories of a worker's coroutines: as many bodies at once as the budget says, all of them run, and who did not begin was not tried."""

import asyncio
from typing import Any

import pytest

from sedano import Retry, Sedano, testing
from sedano.engine.worker.blocked_loop_warning import BLOCKS, Stepped
from sedano.engine.worker.body_coroutines import Turns
from sedano.errors import OptionError
from sedano.memory import START, VirtualClock
from sedano.model import states
from sedano.model.budgets import Budget, Level, Load, scaled
from sedano.model.ledger.outcome import Run
from sedano.ports import command_queue
from tests.stories.test_threads import always

COMMANDS = command_queue("default")


class Crowd:
    """Bodies that count how many of them run at once; each lets all others go on a few times before it ends."""

    def __init__(self) -> None:
        self.now = self.peak = 0

    async def body(self, n: int) -> int:
        """Run once."""
        self.now += 1
        self.peak = max(self.peak, self.now)
        for _ in range(5):
            await asyncio.sleep(0)
        self.now -= 1
        return n


def played(most: int | None, number: int = 10, strategy: Any = "cep") -> int:
    """Return how many of *number* bodies of one batch ran at once at the most; all of them ended well."""
    app, crowd = Sedano("k"), Crowd()
    if most is not None:
        app.coroutines(most=most, strategy=strategy)
    task = app.task(name="work")(crowd.body)
    with testing.world(app) as world:
        results = [task.delay(n) for n in range(number)]
        world.drain()
        assert [result.get() for result in results] == [*range(number)]
    return crowd.peak


def test_the_bodies_of_one_batch_run_at_once_as_far_as_the_budget_goes() -> None:
    assert played(None) == 10, "without a budget all of a batch"
    assert [played(most, strategy=always(most)) for most in (1, 3, 10)] == [1, 3, 10]


def test_the_built_in_strategy_grows_with_what_waits_and_stays_within_its_most() -> None:
    assert [played(4), played(10, number=1)] == [4, 1]
    turns, seen = Turns(Budget(least=1, most=4, cooldown=0), scaled, VirtualClock(START)), []

    async def body() -> None:
        async with turns.turn():
            seen.append(turns.limit)
            await asyncio.sleep(0)

    async def crowd(number: int) -> None:
        await asyncio.gather(*(body() for _ in range(number)))

    asyncio.run(crowd(10))
    assert max(seen) == 4
    asyncio.run(crowd(1))
    assert (turns.limit, seen[-1]) == (1, 1), "what is known outlives a loop, and shrinks to what runs"


def test_the_load_is_what_asked_for_a_turn_and_what_runs() -> None:
    loads: list[Load] = []

    def strategy(budget: Budget, level: Level, load: Load, now: float) -> Level:
        loads.append(load)
        return level

    turns = Turns(Budget(least=1, most=2), strategy, VirtualClock(START))

    async def body() -> None:
        async with turns.turn():
            await asyncio.sleep(0)

    async def three() -> None:
        await asyncio.gather(*(body() for _ in range(3)))

    asyncio.run(three())
    assert loads == [Load(1, 0), Load(1, 1), Load(2, 1), Load(2, 0), Load(1, 0), Load(0, 0)]


def test_a_body_that_raises_or_is_ended_by_its_time_limit_frees_its_turn() -> None:
    app = Sedano("k", retry=Retry(max_retries=0))
    app.coroutines(most=1)

    @app.task(name="work", time_limit=0.05)
    async def work(n: int) -> int:
        if n == 1:
            raise RuntimeError(str(n))
        if n == 2:
            await asyncio.Event().wait()
        return n

    with testing.world(app) as world:
        results = [work.delay(n) for n in range(5)]
        world.drain()
        assert [r.state for r in results] == ["SUCCESS", "FAILURE", "FAILURE", "SUCCESS", "SUCCESS"]


@pytest.fixture
def stuck() -> tuple[Sedano, list[int]]:
    """An app whose bodies do not end, one at a time, and which of them began."""
    app, began = Sedano("k"), list[int]()
    app.coroutines(most=1)

    @app.task(name="work")
    async def work(n: int) -> None:
        began.append(n)
        await asyncio.Event().wait()

    return app, began


def test_who_has_not_begun_when_the_time_is_over_is_given_back_and_was_not_tried(stuck: tuple[Sedano, list[int]]) -> None:
    app, began = stuck
    with testing.world(app) as world:
        results = [app.send_task("work", (n,)) for n in range(3)]
        deliveries = world.queues.receive(COMMANDS)
        back = world.worker.work(deliveries, world.clock.now() + 1.05)
        assert (began, len(back)) == ([0], 3)
        records = world.ports.ledger.read([result.id for result in results])
        told = [(records[result.id].state, records[result.id].attempt) for result in results]
        assert told == [(states.RUNNING, 0), (states.RETRY, 0), (states.RETRY, 0)], "two claims were let go, for the same attempt"


def test_a_time_limit_that_does_not_fit_any_more_when_its_turn_comes_is_not_begun() -> None:
    app, began = Sedano("k"), list[int]()
    app.coroutines(most=1)

    @app.task(name="work", time_limit=10)
    async def work(n: int) -> None:
        began.append(n)
        world.clock.advance(8)

    with testing.world(app) as world:
        results = [work.delay(n) for n in range(2)]
        back = world.worker.work(world.queues.receive(COMMANDS), world.clock.now() + 15)
        assert (began, len(back)) == ([0], 1)
        world.drain()
        assert {result.state for result in results} == {states.SUCCESS}


def test_an_option_that_cannot_be_honoured_is_named() -> None:
    for options, named in (({"most": 0}, "most"), ({"least": 11}, "least"), ({"speed": 1}, "speed: not an option")):
        with pytest.raises(OptionError, match=named):
            Sedano("k").coroutines(**options)


def test_a_body_that_blocks_the_loop_is_logged_with_its_task_and_one_that_waits_is_not() -> None:
    app = Sedano("k")

    @app.task(name="blocks")
    async def blocks() -> str:
        await asyncio.sleep(0)
        world.clock.advance(2.5)  # as time.sleep does: nothing else runs meanwhile
        await asyncio.sleep(0)
        return "done"

    @app.task(name="waits")
    async def waits() -> str:
        for _ in range(4):
            await asyncio.sleep(0)
        return "done"

    @app.task(name="fails")
    async def fails() -> None:
        world.clock.advance(3)
        raise ValueError("x")

    with testing.world(app) as world:
        results = [blocks.delay(), waits.delay()]
        world.drain()
        fails.apply_async(())
        world.step()
        told = [line for line in world.telemetry.lines if line.message == BLOCKS]
        assert [result.get() for result in results] == ["done", "done"]
    assert {line.level for line in told} == {"warning"}
    assert [(line.fields["task"], line.fields["seconds"]) for line in told] == [("blocks", 2.5), ("fails", 3.0)]


def test_what_is_awaited_cancelled_and_raised_in_a_timed_body_is_what_it_was() -> None:
    async def body() -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            return "tidied up"
        return "slept"

    async def cancelled() -> Any:
        stepped = asyncio.ensure_future(_awaited(Stepped(body, VirtualClock(START))))
        await asyncio.sleep(0)
        stepped.cancel()
        return await stepped

    async def failing() -> None:
        await asyncio.sleep(0)
        raise KeyError("x")

    assert asyncio.run(cancelled()) == Run("tidied up")
    error = asyncio.run(_awaited(Stepped(failing, VirtualClock(START)))).error
    assert error is not None
    assert (error.type_name, error.message) == ("KeyError", "'x'")
    assert "in __await__" not in error.traceback
    assert "in failing" in error.traceback


async def _awaited(stepped: Stepped) -> Run:
    return await stepped
