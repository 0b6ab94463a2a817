"""Stories of health checks: looked at when they expired and somebody needs them, reported by tasks and watchers, heard by circuits."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from sedano import Breaker, Sedano, testing
from sedano.api.health import UNHEALTHY
from sedano.errors import OptionError
from sedano.model import states
from tests.stories.kitchen import NEVER, SETTINGS, another_worker, deliver, told


class Weather:
    """An app whose task looks at the sky first."""

    def __init__(self, *, shared: bool = False, **breaker: Any) -> None:
        self.app, self.sky, self.looks, self.flown = Sedano("weather", retry=NEVER), "healthy", 0, 0
        self.check = self.app.health_check("sky", every=10, shared=shared)
        self.check(self._look)
        checks = {"sky": {"unhealthy": 2}}
        self.fly: Any = self.app.task(name="fly", circuit=Breaker(checks=checks, window=60, shared=shared, **breaker))(self._fly)

    def _look(self) -> str:
        self.looks += 1
        if self.sky == "fog":
            raise ValueError("cannot see the sky")
        return self.sky

    def _fly(self) -> None:
        self.flown += 1


def test_a_check_is_looked_at_when_it_expired_and_trips_the_circuit_that_watches_it() -> None:
    weather = Weather()
    with testing.world(weather.app, settings=SETTINGS) as world:
        for _ in range(3):
            weather.fly.delay()
            world.step()
        assert (weather.looks, weather.flown) == (1, 3)
        weather.sky = UNHEALTHY
        world.clock.advance(10)
        weather.fly.delay()
        world.step()
        assert (weather.looks, weather.flown) == (2, 4)
        world.clock.advance(10)
        weather.fly.delay()
        world.step()
        assert (weather.looks, weather.flown) == (3, 4), "the second unhealthy look within the window trips it"
        weather.sky = "healthy"
        world.drain()
        assert weather.flown == 5


def test_a_look_that_fails_says_nothing_and_is_told_as_an_error() -> None:
    weather = Weather()
    with testing.world(weather.app, settings=SETTINGS) as world:
        weather.sky = "fog"
        for _ in range(5):
            weather.fly.delay()
            world.step()
            world.clock.advance(11)
        assert weather.flown == 5
        assert [line["level"] for line in told(world, "health check failed; it is ignored")] == ["error"] * 5


def test_a_task_reports_what_it_met_and_the_circuit_counts_it() -> None:
    weather = Weather()

    @weather.app.task(name="land")
    def land() -> None:
        weather.check.report(UNHEALTHY, "storm")

    with testing.world(weather.app, settings=SETTINGS) as world:
        for _ in range(2):
            land.delay()
            world.step()
        waits = weather.fly.delay()
        world.step()
        assert waits.state == states.PENDING
        with pytest.raises(OptionError, match="no worker would receive"):
            weather.check.report(UNHEALTHY)
        with pytest.raises(OptionError, match="'stormy' is not one of its states"):
            weather.check.report("stormy")


def test_what_one_worker_finds_of_a_shared_check_holds_for_all() -> None:
    weather = Weather(shared=True)
    with testing.world(weather.app, settings=SETTINGS) as world:
        other = another_worker(world)
        weather.fly.delay()
        world.step()
        weather.fly.delay()
        deliver(world, other)
        assert (weather.looks, weather.flown) == (1, 2)
        assert weather.check.read().state == "healthy"
        weather.check.report(UNHEALTHY, "says the tower")
        assert (weather.check.read().state, weather.check.read().detail) == (UNHEALTHY, "says the tower")


def test_the_event_that_a_shared_check_expired_lets_a_worker_look() -> None:
    weather = Weather(shared=True)
    with testing.world(weather.app, settings=SETTINGS) as world:
        world.app.outlet.announce("sky_expired", {})
        world.drain()
        assert (weather.looks, weather.check.read().state) == (1, "healthy")


def test_a_task_that_subscribes_to_a_shared_check_runs_once_when_it_expired() -> None:
    weather = Weather(shared=True)

    @weather.check.subscribe
    @weather.app.task(name="weigh")
    def weigh() -> None:
        weather.check.report(UNHEALTHY, "a heavy sky")

    weather.check.subscribe(weigh)
    with testing.world(weather.app, settings=SETTINGS) as world:
        world.app.outlet.announce("sky_expired", {})
        world.drain()
        assert len(world.sent("weigh")) == 1
        assert weather.check.read().detail == "a heavy sky"


@pytest.mark.parametrize(
    ("options", "body", "words"),
    [
        ({"queue": "calm.fifo", "serial_key": "sky"}, lambda: None, "task weigh cannot subscribe to sky_expired: its queue 'calm.fifo'"),
        ({}, lambda wind: None, "task weigh cannot subscribe to sky_expired: missing a required argument: 'wind'"),
    ],
)
def test_a_task_that_the_event_of_a_check_cannot_call_does_not_subscribe(options: dict[str, Any], body: Any, words: str) -> None:
    app = Sedano("weather", queues=("default", "calm.fifo"))
    check, task = app.health_check("sky", shared=True), app.task(name="weigh", **options)(body)
    with pytest.raises(OptionError, match=f"^{words}"):
        check.subscribe(task)
    with pytest.raises(OptionError, match=r"only a shared one has an event that tasks can subscribe to; declare shared=True"):
        app.health_check("moon").subscribe(task)


def test_a_watcher_watches_in_a_thread_of_the_worker() -> None:
    app, reported = Sedano("k"), threading.Event()
    check = app.health_check("water", states=("low", "high"))

    @check.watch
    def tide(report: Callable[..., None]) -> None:
        report("high", "spring tide")
        reported.set()

    @app.task(name="swim", circuit=Breaker(failures=0, checks={"water": {"high": 1}}))
    def swim() -> None: ...

    with testing.world(app, settings=SETTINGS) as world:
        waits = swim.delay()
        assert reported.wait(10)
        world.step()
        assert waits.state == states.PENDING


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda app: app.task(circuit=3), "circuit: 3 is neither"),
        (lambda app: app.task(circuit=Breaker(checks={"moon": {"unhealthy": 1}})), "no health check 'moon'"),
        (lambda app: app.task(circuit=Breaker(checks={"sky": {"stormy": 1}})), "'stormy' is not a state"),
        (lambda app: app.task(circuit=Breaker(name="fly", failures=9)), "fly is declared with other rules by task fly"),
        (lambda app: lambda _: app.health_check("sky"), "sky: declared twice"),
        (lambda app: lambda _: app.health_check("moon")(lambda of: "healthy"), "without parameters"),
    ],
)  # fmt: skip
def test_a_declaration_that_cannot_be_honoured_is_named(declare: Callable[[Sedano], Any], message: str) -> None:
    def shine() -> None: ...

    with pytest.raises(OptionError, match=message):
        declare(Weather().app)(shine)
