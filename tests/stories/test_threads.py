"""Stories of a worker's threads: as many bodies at once as the budget says, all of them run, and what one raises stays its own."""

import threading
from typing import Any

import pytest

from sedano import Retry, Sedano, testing
from sedano.engine.worker.body_threads import BudgetedThreads
from sedano.errors import OptionError
from sedano.memory import START, VirtualClock
from sedano.model.budgets import Budget, Level, Load, scaled


class Crowd:
    """Bodies that count how many of them run at once; *together*: none ends before so many have begun."""

    def __init__(self, together: int = 1) -> None:
        self.now = self.peak = 0
        self._lock, self._gate = threading.Lock(), threading.Barrier(together, timeout=20)

    def body(self, n: int) -> int:
        """Run once."""
        with self._lock:
            self.now += 1
            self.peak = max(self.peak, self.now)
        self._gate.wait()
        with self._lock:
            self.now -= 1
        return n


def always(limit: int) -> Any:
    """A strategy that says so always."""
    return lambda budget, level, load, now: level._replace(limit=limit)


def test_the_bodies_of_one_batch_run_together_as_far_as_the_budget_goes() -> None:
    app, crowd = Sedano("k"), Crowd(together=3)
    app.threads(most=3, strategy=always(3))
    task = app.task(name="work")(crowd.body)
    with testing.world(app) as world:
        results = [task.delay(n) for n in range(9)]
        world.drain()
        assert [r.get() for r in results] == [*range(9)]
    assert crowd.peak == 3


def test_the_built_in_strategy_grows_with_what_waits_and_stays_within_its_most() -> None:
    clock, crowd = VirtualClock(START), Crowd()
    threads = BudgetedThreads(Budget(least=1, most=4, cooldown=0), scaled, clock)
    held = threading.Event()
    futures = [threads.submit(held.wait, 20) for _ in range(10)]
    assert threads.limit == 4
    held.set()
    assert [future.result(20) for future in futures] == [True] * 10
    assert [threads.submit(crowd.body, n).result(20) for n in range(20)] == [*range(20)]
    assert crowd.peak == 1, "one at a time was handed over"
    threads.shutdown()


def test_a_body_that_raises_frees_its_place() -> None:
    app = Sedano("k", retry=Retry(max_retries=0))
    app.threads(most=1)

    @app.task(name="work")
    def work(n: int) -> int:
        if n % 2:
            raise RuntimeError(str(n))
        return n

    with testing.world(app) as world:
        results = [work.delay(n) for n in range(6)]
        world.drain()
        assert [r.state for r in results] == ["SUCCESS", "FAILURE"] * 3


def test_the_load_is_what_was_handed_over_and_what_runs() -> None:
    seen: list[Load] = []

    def strategy(budget: Budget, level: Level, load: Load, now: float) -> Level:
        seen.append(load)
        return level

    threads = BudgetedThreads(Budget(least=1, most=2), strategy, VirtualClock(START))
    held = threading.Event()
    futures = [threads.submit(held.wait, 20) for _ in range(3)]
    assert seen == [Load(1, 0), Load(1, 1), Load(2, 1)]
    held.set()
    assert all(future.result(20) for future in futures)
    threads.shutdown()


def test_an_option_that_cannot_be_honoured_is_named() -> None:
    for options, named in (({"most": 0}, "most"), ({"least": 11}, "least"), ({"speed": 1}, "speed: not an option")):
        with pytest.raises(OptionError, match=named):
            Sedano("k").threads(**options)


def test_threads_beyond_what_cpu_bound_work_can_use_are_warned_of() -> None:
    with pytest.warns(UserWarning, match="most=11; more than 10 threads of CPU-bound work slow one another down"):
        Sedano("many").threads(most=11)


@pytest.mark.filterwarnings("error")
def test_ten_threads_are_as_many_as_it_may_be_without_a_warning() -> None:
    Sedano("ten").threads(most=10)
