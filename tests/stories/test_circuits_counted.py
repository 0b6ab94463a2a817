"""What circuits count and what they do not: ends on purpose, expired tasks, reports of checks, and counts that other workers race for."""

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from sedano import Breaker, Ignore, Sedano, testing
from sedano.model import states
from sedano.model.circuits import Circuit, to_text
from sedano.model.memos import Memo, MemoChanged
from sedano.ports import Memos
from tests.stories.kitchen import NEVER, SETTINGS, Kitchen, another_worker, deliver, told


def test_what_a_body_raises_on_purpose_holds_back_no_neighbour_of_its_batch() -> None:
    app = Sedano("k", retry=NEVER)

    @app.task(name="cook", circuit=Breaker(failures=2))
    def cook(n: int) -> int:
        if n < 2:
            raise Ignore("not today")
        return n

    with testing.world(app, settings=SETTINGS) as world:
        results = [cook.delay(n) for n in range(3)]
        world.step()
        assert results[2].state == states.SUCCESS


def test_a_task_that_expired_ends_although_its_circuit_is_open() -> None:
    kitchen = Kitchen(circuit=Breaker(failures=1))
    with testing.world(kitchen.app, settings=SETTINGS) as world:
        kitchen.broken = True
        kitchen.cook.delay(1)
        world.step()
        late, waits = kitchen.cook.apply_async((2,), expires=5), kitchen.cook.delay(3)
        world.clock.advance(6)
        world.step()
        assert (late.state, waits.state) == (states.EXPIRED, states.PENDING)


def test_an_open_circuit_is_counted_for_each_task_and_its_opening_is_in_the_history() -> None:
    kitchen = Kitchen(circuit=Breaker(failures=1, open_for=60))
    with testing.world(kitchen.app, settings=SETTINGS) as world:
        kitchen.broken = True
        kitchen.cook.delay(1)
        world.step()
        tripped = world.clock.now()
        kitchen.broken = False
        for n in (2, 3):
            kitchen.cook.delay(n)
        world.step()
        assert world.telemetry.counted("CircuitsOpen", task="cook") == 2
        world.drain()
        every = [json.loads(line) for blob in world.ports.events.read() for line in blob.splitlines()]
        (line,) = [line for line in every if line["type"] == "circuit-tripped"]
        assert (line["circuit"], line["cause"], line["until"]) == ("cook", "1 × failure within 60 s", tripped + 60)
        assert line["clock"] == int(tripped * 1_000_000)


class Raced:
    """Memos that another worker changes right before each of the next so many changes."""

    def __init__(self, memos: Memos, times: int) -> None:
        self._memos, self._left = memos, times

    def read(self, names: Sequence[str]) -> dict[str, Memo]:
        return self._memos.read(names)

    def change(self, memo: Memo, seen: Memo) -> MemoChanged:
        if self._left:
            self._left -= 1
            now = self._memos.read([memo.name]).get(memo.name, Memo(memo.name))
            self._memos.change(Memo(memo.name, to_text(Circuit("cook")), f"rival{self._left}"), now)
        return self._memos.change(memo, seen)


@pytest.mark.parametrize(("rivals", "is_counted"), [(3, True), (4, False)])
def test_a_failure_is_counted_although_three_others_were_first_and_with_four_it_is_logged(rivals: int, is_counted: bool) -> None:
    kitchen = Kitchen(circuit=Breaker(failures=1, shared=True))
    with testing.world(kitchen.app, settings=SETTINGS) as world:
        worker = another_worker(world, replace(world.ports, memos=Raced(world.ports.memos, rivals)))
        kitchen.broken = True
        failed = kitchen.cook.delay(1)
        deliver(world, worker)
        assert failed.state == states.FAILURE
        assert world.telemetry.counted("CircuitsTripped") == is_counted
        assert len(told(world, "circuit not written; a failure is not counted")) == (not is_counted)


def test_a_report_trips_a_shared_circuit_that_no_task_of_this_worker_has_met() -> None:
    app = Sedano("weather", retry=NEVER)
    check = app.health_check("sky", shared=True)

    @app.task(name="fly", circuit=Breaker(checks={"sky": {"unhealthy": 1}}, shared=True))
    def fly() -> None: ...

    @app.task(name="land")
    def land() -> None:
        check.report("unhealthy", "storm")

    with testing.world(app, settings=SETTINGS) as world:
        land.delay()
        world.step()
        assert world.telemetry.counted("CircuitsTripped", circuit="fly") == 1
        waits = fly.delay()
        deliver(world, another_worker(world))
        assert waits.state == states.PENDING


def test_a_watcher_that_reports_a_state_that_its_check_does_not_have_is_told_and_ignored() -> None:
    app = Sedano("k")
    check = app.health_check("water", states=("low", "high"))

    @check.watch
    def tide(report: Callable[..., None]) -> None:
        report("stormy")

    @app.task(name="swim", circuit=Breaker(checks={"water": {"high": 1}}))
    def swim() -> str:
        return "swum"

    with testing.world(app, settings=SETTINGS) as world:
        for thread in threading.enumerate():
            if thread.name == "sedano-watch-water":
                thread.join(10)
        (line,) = told(world, "health watcher failed; it is ignored")
        assert "stormy" in line["error"]
        assert swim.delay().get() == "swum"
