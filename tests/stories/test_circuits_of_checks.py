"""What circuits hear of health checks, once each; what a change of health writes to the log; and what circuits cost."""

import pytest

from sedano import Breaker, Sedano, testing
from sedano.api.health import UNHEALTHY
from sedano.model import states
from tests.stories.kitchen import NEVER, SETTINGS, Kitchen, another_worker, deliver, told
from tests.stories.taps import Watch, tapped
from tests.stories.test_health_checks import Weather

ASKED = frozenset({"memos"})


def test_a_change_of_health_is_logged_once_with_what_it_was_before() -> None:
    weather = Weather()

    @weather.app.task(name="land")
    def land(state: str) -> None:
        weather.check.report(state, "says the pilot")

    with testing.world(weather.app, settings=SETTINGS) as world:
        for state in (UNHEALTHY, UNHEALTHY, "healthy"):
            land.delay(state)
            world.step()
        changes = [(line["level"], line["before"], line["state"], line["why"]) for line in told(world, "health changed")]
        assert changes == [
            ("warning", "unknown", UNHEALTHY, "says the pilot"), ("info", UNHEALTHY, "healthy", "says the pilot"),
        ]  # fmt: skip


def test_a_circuit_hears_of_its_own_checks_only() -> None:
    weather = Weather()
    sea = weather.app.health_check("sea")
    weather.app.task(name="sail", circuit=Breaker(checks={"sea": {UNHEALTHY: 1}}))(lambda: "sailed")

    @weather.app.task(name="land")
    def land() -> None:
        sea.report(UNHEALTHY, "waves")

    with testing.world(weather.app, settings=SETTINGS) as world:
        for _ in range(3):
            land.delay()
            world.step()
        assert world.telemetry.counted("CircuitsTripped", circuit="sail") == 1
        assert world.telemetry.counted("CircuitsTripped", circuit="fly") == 0


@pytest.mark.parametrize("shared", [False, True])
def test_one_look_at_a_shared_check_counts_once_in_each_circuit(shared: bool) -> None:
    app, looks = Sedano("weather", retry=NEVER), list[str]()

    def look() -> str:
        looks.append(UNHEALTHY)
        return UNHEALTHY

    app.health_check("sky", every=60, shared=True)(look)
    fly = app.task(name="fly", circuit=Breaker(checks={"sky": {UNHEALTHY: 2}}, window=3_600, shared=shared))(lambda: None)
    with testing.world(app, settings=SETTINGS) as world:
        other = another_worker(world)
        for worker in (world.worker, other, other, world.worker):
            fly.delay()
            deliver(world, worker)
        assert (len(looks), world.telemetry.counted("CircuitsTripped")) == (1, 0)
        world.clock.advance(61)
        fly.delay()
        deliver(world, other)
        assert (len(looks), world.telemetry.counted("CircuitsTripped")) == (2, 1)
        waits = fly.delay()
        deliver(world, world.worker)
        assert waits.state == states.PENDING, "it heard of both looks as well"


def test_nobody_looks_at_the_checks_of_a_circuit_that_is_open() -> None:
    weather = Weather(open_for=600)
    with testing.world(weather.app, settings=SETTINGS) as world:
        weather.sky = UNHEALTHY
        for _ in range(2):
            weather.fly.delay()
            world.step()
            world.clock.advance(10)
        assert (weather.looks, weather.flown, world.telemetry.counted("CircuitsTripped")) == (2, 1, 1)
        weather.fly.delay()
        world.step()
        assert weather.looks == 2


def test_a_circuit_that_counts_no_failures_stays_closed_whatever_fails() -> None:
    app = Sedano("k", retry=NEVER)
    app.health_check("sky")

    @app.task(name="cook", circuit=Breaker(failures=0, checks={"sky": {UNHEALTHY: 1}}))
    def cook(n: int) -> None:
        if n < 4:
            raise ValueError("burnt")

    with testing.world(app, settings=SETTINGS) as world:
        results = [cook.delay(n) for n in range(5)]
        world.step()
        assert [result.state for result in results] == [states.FAILURE] * 4 + [states.SUCCESS]


@pytest.mark.parametrize(("open_for", "most"), [(10, 1), (300, 3)])
def test_those_that_wait_come_once_and_within_a_tenth_of_the_time_and_at_most_three_seconds(open_for: int, most: int) -> None:
    kitchen = Kitchen(circuit=Breaker(failures=1, open_for=open_for))
    with testing.world(kitchen.app, settings=SETTINGS) as world:
        kitchen.broken = True
        kitchen.cook.delay(0)
        world.step()
        tripped = world.clock.now()
        (line,) = told(world, "circuit tripped")
        assert line["seconds"] == open_for
        kitchen.broken = False
        for n in range(1, 9):
            kitchen.cook.delay(n)
        world.drain()
        assert sorted(kitchen.cooked) == list(range(1, 9))
        assert world.telemetry.counted("CircuitsOpen") == 8
        assert open_for <= world.clock.now() - tripped < open_for + most + 1, "a queue delays by whole seconds"


def test_a_shared_circuit_that_was_closed_by_hand_lets_the_next_batch_run_at_once() -> None:
    kitchen = Kitchen(circuit=Breaker(failures=1, open_for=3_600, shared=True))
    with testing.world(kitchen.app, settings=SETTINGS) as world:
        kitchen.broken = True
        kitchen.cook.delay(0)
        world.step()
        kitchen.broken = False
        world.app.control.resume(circuit="cook")
        served = kitchen.cook.delay(1)
        world.step()
        assert served.state == states.SUCCESS


@pytest.mark.parametrize(("shared", "calls"), [(False, []), (True, ["memos.read"] * 3)])
def test_a_clean_circuit_costs_a_read_of_each_batch_where_it_is_shared_and_else_nothing(shared: bool, calls: list[str]) -> None:
    kitchen = Kitchen(circuit=Breaker(shared=shared))
    with testing.world(kitchen.app, settings=SETTINGS) as world:
        watch = Watch(ports=ASKED)
        worker = another_worker(world, tapped(world.ports, watch))
        for n in range(3):
            kitchen.cook.delay(n)
            deliver(world, worker)
            kitchen.serve.delay()
            deliver(world, worker)
        assert sorted(kitchen.cooked) == [0, 1, 2]
        assert watch.calls == calls


def test_the_failures_and_the_health_that_one_worker_alone_knows_are_written_nowhere() -> None:
    weather = Weather()
    with testing.world(weather.app, settings=SETTINGS) as world:
        watch = Watch(ports=ASKED)
        worker = another_worker(world, tapped(world.ports, watch))
        weather.sky = UNHEALTHY
        for _ in range(3):
            weather.fly.delay()
            deliver(world, worker)
            world.clock.advance(11)
        assert world.telemetry.counted("CircuitsTripped") == 1
        assert watch.calls == []
