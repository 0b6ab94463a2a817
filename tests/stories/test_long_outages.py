"""Outages of any length, wrong clocks and long waits: no healthy task ends as poison, as a dead letter or parked."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from typing import Any

import pytest

from sedano import chord
from sedano.engine.cluster.explanation import explain
from sedano.engine.worker.pipeline import WorkerSettings
from sedano.errors import Unavailable
from sedano.model import refusals, states
from sedano.model.retry import MAX_EXECUTIONS
from sedano.ports import PARKED, RECORDS, Ports
from tests.stories.processes import COMMANDS, WORKED, Processes
from tests.stories.shop import Shop
from tests.stories.stage import VISIBILITY_S, Stage, in_memory
from tests.stories.taps import Crash

DAY_S = 86_400.0
SETTINGS = WorkerSettings(lanes=0, heartbeat=0.0)


@dataclass
class Weather:
    """What is away until when."""

    port: str
    until: float
    now: Callable[[], float]

    def check(self) -> None:
        """Raise while it is away."""
        if self.now() < self.until:
            raise Unavailable(f"{self.port}: away (a story's doing)")


class Away:
    """A port that does not answer until its weather is over."""

    def __init__(self, port: Any, weather: Weather) -> None:
        """Stand before *port*."""
        self._port, self._weather = port, weather

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        """Return the operation, which may be away."""
        method = getattr(self._port, operation)
        if not callable(method):
            return method  # type: ignore[no-any-return]

        def called(*args: Any, **kwargs: Any) -> Any:
            self._weather.check()
            return method(*args, **kwargs)

        return called


def away(stage: Stage, port: str, seconds: float) -> Ports:
    """Return the ports of *stage*, of which *port* is away for *seconds* from now."""
    weather = Weather(port, stage.clock.now() + seconds, stage.clock.now)
    every = {name: getattr(stage.ports, name) for name in (f.name for f in fields(Ports))}
    return Ports(**{**every, port: Away(every[port], weather)})


class Outage(Processes):
    """Processes of which one port is away for a while; each delivery meets a fresh worker: what a worker remembers must not be needed."""

    def __init__(self, stage: Stage, shop: Shop, port: str, seconds: float) -> None:
        """Begin with *port* away."""
        super().__init__(stage, shop.app, SETTINGS)
        self.ports, self.until = away(stage, port, seconds), stage.clock.now() + seconds

    def last(self) -> None:
        """Deliver whatever is visible until the outage is over, then all that is left."""
        while self.stage.clock.now() < self.until:
            self.restart(self.ports)
            self.feed = self.stage.ports.queues
            hidden = 0.0 if self.step() else self.stage.hidden_for(WORKED)
            left = self.until - self.stage.clock.now()
            self.stage.pass_time(min(left, left if hidden is None else hidden) + 0.001)
        self.restart()
        self.drain()


def assert_healthy(stage: Stage) -> None:
    """Assert that nothing was set aside, by us or by a queue."""
    assert [m.attributes["reason"] for m in stage.peek(PARKED)] == []
    assert stage.dead() == []


@pytest.mark.parametrize("seconds", [30 * VISIBILITY_S, DAY_S, 5 * DAY_S])
def test_an_outage_of_the_ledger_of_any_length_poisons_no_task_that_never_ran(seconds: float) -> None:
    stage, shop = in_memory(), Shop()
    processes = Outage(stage, shop, "ledger", seconds)
    results = [shop.add.delay(n, 1) for n in range(3)]
    processes.last()
    assert [result.get(timeout=1) for result in results] == [1, 2, 3]
    assert_healthy(stage)


@pytest.mark.parametrize("name", ["big", "once"])
def test_an_outage_of_the_bucket_of_a_day_poisons_no_task_whose_arguments_lie_there(name: str) -> None:
    stage, shop = in_memory(), Shop()
    shop.task("kept", len, delivery="record_once")
    processes = Outage(stage, shop, "blobs", DAY_S)
    result = shop.big.delay("x" * 120_000) if name == "big" else shop.app.signature("kept", ("x" * 120_000,)).delay()
    processes.last()
    assert result.get(timeout=1) in ("x" * 120_000 + "!", 120_000)
    assert_healthy(stage)


def test_an_outage_of_the_bucket_of_a_day_ends_no_chord() -> None:
    stage, shop = in_memory(), Shop()
    shop.task("sizes", lambda texts: [len(text) for text in texts])
    Processes(stage, shop.app, SETTINGS)
    result = chord((shop.big.s(f"{n}" * 120_000) for n in range(2)), shop.app.signature("sizes")).delay()
    processes = Outage(stage, shop, "blobs", DAY_S)
    processes.last()
    assert result.get(timeout=1) == [120_001, 120_001]
    assert_healthy(stage)


def test_what_waits_for_a_store_says_so_where_it_is_asked_for() -> None:
    stage, shop = in_memory(), Shop()
    processes = Outage(stage, shop, "ledger", DAY_S)
    result = shop.add.delay(1, 2)
    processes.restart(processes.ports)
    processes.feed = stage.ports.queues
    processes.deliver()
    processes.deliver(RECORDS)
    told = explain(stage.ports, ("default",), result.id)
    assert told.state == states.PENDING
    assert "not answered: ledger: away" in told.sentence


def test_crashes_are_counted_across_waits_where_no_claim_counts_them() -> None:
    """A body that kills its worker, and waits in a paused queue in between, begins no more than twenty times."""
    stage, shop = in_memory(), Shop()
    began: list[int] = []

    def kills() -> None:
        began.append(1)
        raise Crash

    shop.task("kills", kills, delivery="at_least_once", ignore_result=True)
    processes = Processes(stage, shop.app, SETTINGS)
    shop.app.signature("kills").delay()
    for _ in range(4 * MAX_EXECUTIONS):
        for paused in (False, True):
            (shop.app.control.pause_queue if paused else shop.app.control.resume_queue)("default")
            processes.restart()
            with suppress(Crash):
                processes.deliver()
            stage.pass_time(1_000.0)
    shop.app.control.resume_queue("default")
    processes.restart()
    processes.drain()
    assert len(began) <= MAX_EXECUTIONS
    assert {m.attributes["reason"] for m in stage.peek(PARKED)} <= {refusals.EXECUTIONS, refusals.POISON}
    assert stage.peek(PARKED) != []


class Skewed:
    """A clock that is wrong by *error* seconds."""

    def __init__(self, clock: Any, error: float) -> None:
        """Be wrong by *error*."""
        self._clock, self.error = clock, error

    def now(self) -> float:
        """The wrong time."""
        return float(self._clock.now() + self.error)

    def __getattr__(self, name: str) -> Any:
        """Everything else is right."""
        return getattr(self._clock, name)


@pytest.mark.parametrize("behind", [299.0, 301.0, 600.0])
def test_a_worker_whose_clock_is_behind_parks_no_healthy_message(behind: float) -> None:
    stage, shop = in_memory(), Shop()
    processes = Processes(stage, shop.app, SETTINGS)
    results = [shop.add.delay(n, 1) for n in range(20)]
    processes.restart(replace(stage.ports, clock=Skewed(stage.clock, -behind)))
    processes.deliver()
    processes.deliver()
    stage.telemetry.flush()
    assert stage.peek(PARKED) == []
    assert (stage.telemetry.counted("ClocksWrong") > 0) == (behind > 300)
    processes.restart()
    processes.drain()
    assert [result.get(timeout=1) for result in results] == list(range(1, 21))
    assert_healthy(stage)


def test_a_message_that_is_ahead_of_the_queues_own_clock_too_is_parked() -> None:
    stage, shop = in_memory(), Shop()
    processes = Processes(stage, shop.app, SETTINGS)
    shop.app.attach(replace(stage.ports, clock=Skewed(stage.clock, 700.0)))
    shop.add.delay(1, 2)
    processes.drain()
    assert [m.attributes["reason"] for m in stage.peek(PARKED)] == [refusals.CLOCK_AHEAD]


def test_a_worker_whose_clock_is_set_back_still_hears_of_pauses() -> None:
    stage, shop = in_memory(), Shop()
    clock = Skewed(stage.clock, 0.0)
    processes = Processes(stage, shop.app, WorkerSettings(lanes=0, heartbeat=60.0))
    processes.restart(replace(stage.ports, clock=clock))
    shop.add.delay(1, 2)
    processes.deliver()
    clock.error = -250.0
    stage.pass_time(61.0)
    shop.app.control.pause_queue("default")
    waits = shop.add.delay(3, 4)
    processes.deliver()
    assert waits.state == states.PENDING


def test_of_many_messages_that_wait_none_stays_in_flight() -> None:
    """Paused, suspended, behind an open circuit, without a permit: what waits lies delayed in its queue."""
    stage, shop = in_memory(), Shop()
    processes = Processes(stage, shop.app, SETTINGS)
    shop.app.control.pause_queue("default")
    shop.together(shop.add.s(n, 1) for n in range(200))
    for _ in range(20):
        processes.deliver()
    load = stage.ports.consumers.load(COMMANDS)
    assert (load.running, len(stage.peek(COMMANDS))) == (0, 200)
    shop.app.control.resume_queue("default")
    processes.restart()
    processes.drain()
    assert shop.ran["add"] == 200
