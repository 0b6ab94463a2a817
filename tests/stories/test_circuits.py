"""Stories of circuits: what fails too often is left alone for a while, waits without being lost, and goes on by itself."""

from datetime import UTC, datetime

import pytest

from sedano import Breaker, Ignore, Retry, Sedano, testing
from sedano.errors import OptionError, RemoteError, Unavailable
from sedano.model import states
from sedano.model.memos import Memo
from tests.stories.kitchen import NEVER, SETTINGS, Kitchen, another_worker, deliver, told
from tests.stories.taps import Watch, tapped


def test_three_failures_trip_it_the_others_wait_and_run_when_it_closes() -> None:
    kitchen = Kitchen(circuit=True)
    with testing.world(kitchen.app, settings=SETTINGS) as world:
        kitchen.broken = True
        failed = [kitchen.cook.delay(n) for n in range(3)]
        world.step()
        assert [r.state for r in failed] == [states.FAILURE] * 3
        kitchen.broken = False
        waiting = [kitchen.cook.delay(n) for n in range(3, 6)]
        served = kitchen.serve.delay()
        world.step()
        assert served.state == states.SUCCESS
        assert [r.state for r in waiting] == [states.PENDING] * 3
        assert kitchen.cooked == []
        tripped_at = world.clock.now()
        world.drain()
        assert sorted(kitchen.cooked) == [3, 4, 5]
        assert 30 <= world.clock.now() - tripped_at < 34
        (line,) = told(world, "circuit tripped")
        assert (line["level"], line["circuit"], line["cause"]) == ("warning", "cook", "3 × failure within 60 s")
        assert world.telemetry.counted("CircuitsTripped") == 1


def test_retries_of_one_task_are_failures_like_others() -> None:
    kitchen = Kitchen(circuit=Breaker(failures=2), retry=Retry(max_retries=3, interval_start=1, jitter=False))
    with testing.world(kitchen.app, settings=SETTINGS) as world:
        kitchen.broken = True
        result = kitchen.cook.delay(1)
        while world.telemetry.counted("CircuitsTripped") == 0:
            assert world.step() or world._wait()
        kitchen.broken = False
        world.drain()
        assert result.get() == 1


def test_a_task_may_fail_at_once_instead_of_waiting_and_its_error_says_why() -> None:
    kitchen = Kitchen(circuit=Breaker(failures=1, on_open="fail"))
    with testing.world(kitchen.app, settings=SETTINGS) as world:
        kitchen.broken = True
        kitchen.cook.delay(1)
        world.step()
        late = kitchen.cook.delay(2)
        world.drain()
        with pytest.raises(RemoteError, match=r"circuit cook is open since .*: 1 × failure within 60 s"):
            late.get()
        assert kitchen.cooked == []
        assert not world.parked()


def test_what_a_body_raises_on_purpose_and_a_success_in_between_do_not_trip_it() -> None:
    app, raising = Sedano("k", retry=NEVER), [Ignore("x"), Ignore("y"), RuntimeError("a"), None, RuntimeError("b")]

    @app.task(name="cook", circuit=Breaker(failures=2))
    def cook(n: int) -> None:
        error = raising[n]
        if error is not None:
            raise error

    with testing.world(app, settings=SETTINGS) as world:
        for n in range(5):
            cook.delay(n)
            world.step()
        assert world.telemetry.counted("CircuitsTripped") == 0


def test_a_message_that_waits_longer_than_a_queue_counts_receipts_is_not_lost() -> None:
    app, ran, breaker = Sedano("k", retry=NEVER), [], Breaker(failures=1, open_for=60)

    @app.task(name="cook", circuit=breaker, delivery="at_least_once", ignore_result=True)
    def cook(n: int) -> None:
        ran.append(n)
        if n == 0 and len(ran) < 30:
            cook.delay(0)
            raise RuntimeError("again")

    with testing.world(app, settings=SETTINGS) as world:
        for n in range(3):
            cook.delay(n)
        world.app.control.pause(circuit="cook")
        began = world.clock.now()
        while world.clock.now() - began < 6 * 3_600:
            assert world.step() or world._wait()
        assert ran == []
        world.app.control.resume(circuit="cook")
        world.drain()
        assert {0, 1, 2} <= {*ran}
        assert not world.parked()


@pytest.mark.parametrize("items", [["a"], ["x" * 70_000] * 5], ids=["short", "in the blob store"])
def test_a_map_waits_while_the_task_that_it_calls_is_paused(items: list[str]) -> None:
    kitchen = Kitchen(circuit=False)
    served: list[str] = []
    lay = kitchen.app.task(name="lay")(served.append)
    with testing.world(kitchen.app, settings=SETTINGS) as world:
        world.app.control.pause(task="lay")
        waits = lay.map(items).delay()
        world.step()
        assert (waits.state, served) == (states.PENDING, [])
        assert "paused: task lay" in world.app.control.explain(waits.id).sentence
        world.app.control.resume(task="lay")
        world.drain()
        assert (waits.state, served) == (states.SUCCESS, items)


@pytest.mark.parametrize("kind", ["task", "tenant", "circuit", "id"])
def test_what_is_paused_by_command_waits_and_goes_on(kind: str) -> None:
    kitchen = Kitchen(circuit=True)
    with testing.world(kitchen.app, settings=SETTINGS) as world:
        name = {"task": "cook", "tenant": "acme", "circuit": "cook", "id": "t-1"}[kind]
        control = world.app.control
        assert control.pause(**{kind: name}) == {f"{kind}={name}"}
        waits = kitchen.cook.apply_async((1,), tenant="acme", task_id="t-1")
        served = kitchen.serve.delay()
        world.step()
        assert (waits.state, served.state) == (states.PENDING, states.SUCCESS)
        assert control.resume(**{kind: name}) == frozenset()
        world.drain()
        assert waits.get() == 1


def test_a_window_of_maintenance_begins_and_ends_by_itself() -> None:
    kitchen = Kitchen(circuit=False)
    with testing.world(kitchen.app, settings=SETTINGS) as world:
        now = world.clock.now()
        moments = [datetime.fromtimestamp(now + seconds, UTC) for seconds in (60, 120)]
        world.app.control.pause(task="cook", start=moments[0], until=moments[1])
        assert kitchen.cook.delay(1).get() == 1
        world.clock.advance(60)
        waits = kitchen.cook.delay(2)
        world.step()
        assert waits.state == states.PENDING
        world.drain()
        assert kitchen.cooked == [1, 2]
        assert now + 120 <= world.clock.now() <= now + 125


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({}, "name one of queue, task"), ({"task": "cook", "queue": "default"}, "name one of"),
        ({"task": "cok"}, "task: 'cok' is not one of"),
        ({"queue": "mail"}, "queue: 'mail' is not one of"), ({"circuit": "serve"}, "circuit: 'serve' is not one of"),
        ({"tenant": "a b"}, "tenant: 'a b' is not"),
    ],
)  # fmt: skip
def test_what_is_not_there_cannot_be_paused(named: dict[str, str], message: str) -> None:
    kitchen = Kitchen(circuit=True)
    with testing.world(kitchen.app) as world, pytest.raises(OptionError, match=message):
        world.app.control.pause(**named)  # type: ignore[arg-type]


def test_a_shared_circuit_is_one_for_all_workers_and_is_closed_by_hand() -> None:
    kitchen = Kitchen(circuit=Breaker(failures=2, open_for=3_600, shared=True))
    with testing.world(kitchen.app, settings=SETTINGS) as world:
        other = another_worker(world)
        kitchen.broken = True
        kitchen.cook.delay(1)
        world.step()
        kitchen.cook.delay(2)
        deliver(world, other)
        kitchen.broken = False
        waits = kitchen.cook.delay(3)
        world.step()
        assert waits.state == states.PENDING
        world.app.control.resume(circuit="cook")
        world.clock.advance(3_700)
        world.step()
        assert waits.state == states.SUCCESS


def test_a_worker_that_cannot_write_its_circuit_loses_a_count_and_no_task() -> None:
    kitchen = Kitchen(circuit=Breaker(failures=1, shared=True))
    with testing.world(kitchen.app, settings=SETTINGS) as world:
        watch = Watch(0, "before", lambda: Unavailable("the table is away"), frozenset({"memos"}))
        deaf = another_worker(world, tapped(world.ports, watch))
        kitchen.broken = True
        failed = kitchen.cook.delay(1)
        watch.at = 1
        deliver(world, deaf)
        assert failed.state == states.FAILURE
        assert watch.fired
        assert told(world, "circuit not written; a failure is not counted") or told(world, "circuits not read; the last known state holds")


def test_a_circuit_of_a_newer_version_stops_nobody() -> None:
    kitchen = Kitchen(circuit=Breaker(shared=True))
    with testing.world(kitchen.app, settings=SETTINGS) as world:
        world.ports.memos.change(Memo("circuit:cook", "{}", "n"), Memo("circuit:cook"))
        assert kitchen.cook.delay(1).get() == 1
        assert told(world, "circuits not read; the last known state holds")
