"""The live view says what the ledger says, whatever happened: held, collected, debounced, given up, revoked, retried."""

import json
import random
from typing import Any

import pytest

from sedano import Breaker, Retry, Sedano, testing
from sedano.cli import main
from sedano.engine.worker.pipeline import WorkerSettings
from sedano.model import states
from sedano.model.history.live_state import LiveState
from sedano.model.history.live_tasks import HELD, Watched
from sedano.views.cluster import cluster
from tests.stories import bakery
from tests.stories.kept import assert_view_agrees

SETTINGS = WorkerSettings(lanes=0, heartbeat=0.0)


def states_of(world: testing.World) -> dict[str, str]:
    """What the view says of each task."""
    return {task.uuid: task.state for task in cluster(world.ports, latest=1_000, days=1_000).latest}


class Mixed:
    """An app in which everything may happen to a task."""

    def __init__(self, dice: random.Random) -> None:
        """Declare it."""
        self.app = Sedano("mixed", retry=Retry(max_retries=2, interval_start=1, jitter=False))
        self.fine: Any = self.app.task(name="fine")(lambda n: n)
        self.flaky: Any = self.app.task(name="flaky")(lambda n: 1 // int(dice.random() < 0.5))
        self.many: Any = self.app.task(name="many", batch=(3, "5s"))(len)
        self.quiet: Any = self.app.task(name="quiet", debounce="5s", key="{n}")(lambda n: n)
        self.slow: Any = self.app.task(name="slow", rate="1/s")(lambda n: n)
        self.cook: Any = self.app.task(name="cook", circuit=Breaker(failures=2), retry=False)(lambda n: 1 // 0)
        self.all = (self.fine, self.flaky, self.many, self.quiet, self.slow, self.cook)


@pytest.mark.parametrize("seed", range(12))
def test_after_any_story_the_view_says_what_the_ledger_says(seed: int) -> None:
    dice = random.Random(seed)
    mixed = Mixed(dice)
    with testing.world(mixed.app, seed=seed, settings=SETTINGS) as world:
        results: list[Any] = []
        for _ in range(60):
            act = dice.choice(("call", "call", "call", "step", "step", "revoke", "pause", "resume", "wait"))
            if act == "call":
                results.append(dice.choice(mixed.all).apply_async((dice.randrange(3),), expires=dice.choice((None, 3, 60))))
            elif act == "step":
                world.step()
            elif act == "revoke" and results:
                mixed.app.control.revoke(dice.choice(results).id)
            elif act == "pause":
                mixed.app.control.pause(task="fine")
            elif act == "resume":
                mixed.app.control.resume(task="fine")
            elif act == "wait":
                world.clock.advance(dice.choice((0.5, 2.0, 40.0)))
        mixed.app.control.resume(task="fine")
        world.drain()
        assert_view_agrees(world.ports)
        assert HELD not in states_of(world).values()


def test_a_call_of_a_batch_is_held_until_its_batch_ends_and_ends_with_it() -> None:
    mixed = Mixed(random.Random(1))
    with testing.world(mixed.app, settings=SETTINGS) as world:
        result = mixed.many.delay(1)
        world.step()
        (task,) = cluster(world.ports).latest
        assert (task.uuid, task.state, task.times) == (result.id, HELD, {"held": world.clock.now()})
        world.drain()
        assert states_of(world)[result.id] == states.SUCCESS


def states_in_history(world: testing.World) -> dict[str, str]:
    """What the tables of the history say of each task: the fold of its events, in any order."""
    found = LiveState()
    lines = [line for blob in world.ports.events.read("2026-01-01") for line in blob.splitlines()]
    random.Random(1).shuffle(lines)
    for line in lines:
        found.event(json.loads(line))
    return {task.uuid: task.state for task in found.tasks_by_time()}


@pytest.mark.parametrize("ends_well", [True, False])
def test_the_history_tells_the_end_of_each_call_that_was_collected(ends_well: bool) -> None:
    app = Sedano("mixed", retry=Retry(max_retries=1, interval_start=1, jitter=False))
    many: Any = app.task(name="many", batch=(3, "5s"))(lambda calls: len(calls) // int(ends_well))
    with testing.world(app, settings=SETTINGS) as world:
        results = [many.delay(n) for n in range(4)]
        world.drain()
        expected = states.SUCCESS if ends_well else states.FAILURE
        assert {states_in_history(world)[result.id] for result in results} == {expected}


def test_the_history_tells_how_what_was_held_or_debounced_ended() -> None:
    mixed = Mixed(random.Random(1))
    with testing.world(mixed.app, settings=SETTINGS) as world:
        mixed.app.control.pause(task="fine")
        late = mixed.fine.apply_async((1,), expires=100)
        calls = [mixed.quiet.delay(1) for _ in range(3)]
        world.step()
        assert HELD in states_in_history(world).values()
        mixed.app.control.resume(task="fine")
        world.clock.advance(200.0)
        world.drain()
        found = states_in_history(world)
        assert found[late.id] == states.REVOKED
        assert [found[call.id] for call in calls] == [states.REVOKED, states.REVOKED, states.SUCCESS]
        assert HELD not in found.values()


def test_a_task_that_is_held_and_then_expires_is_shown_as_expired() -> None:
    mixed = Mixed(random.Random(1))
    with testing.world(mixed.app, settings=SETTINGS) as world:
        mixed.app.control.pause(task="fine")
        result = mixed.fine.apply_async((1,), expires=100)
        world.step()
        assert states_of(world) == {result.id: HELD}
        mixed.app.control.resume(task="fine")
        world.clock.advance(200.0)
        world.drain()
        assert states_of(world) == {result.id: states.EXPIRED}


def test_the_events_may_come_in_any_order_and_twice() -> None:
    common = {"hostname": "h", "pid": 1, "uuid": "t"}
    lines = [
        {**common, "type": "task-received", "clock": 1, "timestamp": 1.0, "name": "fine"},
        {**common, "type": "task-held", "clock": 2, "timestamp": 2.0, "name": "fine", "reason": "x", "until": 9.0},
        {**common, "type": "task-held", "clock": 4, "timestamp": 4.0, "name": "fine", "reason": "x", "until": 9.0},
        {**common, "type": "task-revoked", "clock": 5, "timestamp": 5.0},
    ]
    for seed in range(20):
        mixed, watched = [*lines, *lines], Watched()
        random.Random(seed).shuffle(mixed)
        for line in mixed:
            watched.event(line)
        (task,) = watched.tasks_by_time()
        assert task.state == states.REVOKED
    for number, expected in ((1, "RECEIVED"), (2, HELD), (3, HELD)):
        watched = Watched()
        for line in lines[:number]:
            watched.event(line)
        assert watched.tasks_by_time()[0].state == expected


def test_the_command_shows_no_task_of_1970(capsys: pytest.CaptureFixture[str]) -> None:
    with testing.world(bakery.app, settings=SETTINGS) as world:
        bakery.app.control.pause(task=bakery.mix.name)
        bakery.mix.delay(2)
        world.step()
        assert main(["cluster", "--app", "tests.stories.bakery:app"]) == 0
    shown = capsys.readouterr().out
    assert HELD in shown
    assert "1970" not in shown
