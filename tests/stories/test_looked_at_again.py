"""What waits behind other bodies of its batch is looked at again before it begins: expiry, revocation, pauses, circuits."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from sedano import Breaker, Retry, Sedano, testing
from sedano.engine.worker.pipeline import WorkerSettings
from sedano.errors import Unavailable
from sedano.model import states
from sedano.model.ledger.records import TaskRecord
from tests.stories.kitchen import NEVER, Kitchen
from tests.stories.mutants import Delegating

INLINE = WorkerSettings(lanes=0, heartbeat=3_600.0)
"""A worker that learns of changes by its looks alone."""
SOON = INLINE._replace(heartbeat=10.0)
"""One that hears of a resumption as well."""
MODES = pytest.mark.parametrize("delivery", ["claimed", "record_once"])


class Row:
    """A batch of bodies that begin one after the other: `slow` takes *seconds* and does *meanwhile*; each `next` notes that it ran."""

    def __init__(self, seconds: float, **options: Any) -> None:
        """Declare the app."""
        self.app, self.ran, self.seconds = Sedano("row", retry=NEVER), list[int](), seconds
        self.meanwhile: Callable[[], object] = list
        self.world: testing.World
        self.slow: Any = self.app.task(name="slow", **options)(self._slow)
        self.next: Any = self.app.task(name="next", **options)(self._next)

    def _slow(self) -> None:
        self.world.clock.advance(self.seconds)
        self.meanwhile()

    def _next(self, n: int) -> int:
        self.ran.append(n)
        return n

    def play(self, **options: Any) -> Any:
        """Let one batch of `slow`, and of `next` published with *options*, be worked off; return the result of `next`."""
        with testing.world(self.app, settings=INLINE) as world:
            self.world = world
            with self.app.batch():
                self.slow.delay()
                result = self.next.apply_async((1,), **options)
            self.result = result
            world.step()
            state = result.state
            self.parked = [one.attributes["reason"] for one in world.parked()]
            return state


def test_a_task_that_expires_behind_others_of_its_batch_does_not_run() -> None:
    row = Row(10.0)
    assert row.play(expires=5) == states.EXPIRED
    assert (row.ran, row.parked) == ([], ["expired"])


def test_a_task_that_has_time_left_runs_behind_others() -> None:
    row = Row(10.0)
    assert row.play(expires=15) == states.SUCCESS
    assert row.ran == [1]


@MODES
def test_a_task_that_is_revoked_by_id_behind_others_of_its_batch_does_not_run(delivery: str) -> None:
    row = Row(1.5, delivery=delivery)
    row.meanwhile = lambda: row.app.control.revoke(row.result.id)
    with testing.world(row.app, settings=INLINE) as world:
        row.world = world
        with row.app.batch():
            row.slow.delay()
            row.result = row.next.delay(1)
        world.step()
        assert row.result.state == states.REVOKED
        world.drain()
        assert (row.ran, world.parked()) == ([], [])


def test_a_task_that_is_revoked_by_header_behind_others_does_not_run() -> None:
    row = Row(1.5)
    row.meanwhile = lambda: row.app.control.revoke_by_header("tenant", "acme")
    assert row.play(tenant="acme") == states.REVOKED
    assert row.ran == []


@pytest.mark.parametrize("what", [{"queue": "default"}, {"task": "next"}, {"tenant": "acme"}])
def test_what_is_paused_behind_others_waits_and_runs_when_it_is_resumed(what: dict[str, str]) -> None:
    row = Row(1.5)
    row.meanwhile = lambda: row.app.control.pause(**what)
    with testing.world(row.app, settings=SOON) as world:
        row.world = world
        with row.app.batch():
            row.slow.delay()
            result = row.next.apply_async((1,), tenant="acme")
        world.step()
        assert (result.state in (states.PENDING, states.RETRY), row.ran) == (True, [])
        assert "paused" in row.app.control.explain(result.id).sentence
        row.app.control.resume(**what)
        world.drain()
        assert (result.get(), row.ran) == (1, [1])


def test_no_store_is_asked_again_within_a_second() -> None:
    row = Row(0.9)
    seen: list[str] = []

    class Counting(Delegating):
        def read(self, task_ids: Any) -> dict[str, TaskRecord]:
            seen.extend(task_ids)
            found: dict[str, TaskRecord] = self.inner.read(task_ids)
            return found

    with testing.world(row.app, settings=INLINE) as world:
        row.world = world
        with row.app.batch():
            row.slow.delay()
            row.next.delay(1)
        replace_ledger(world, Counting(world.ports.ledger))
        world.step()
    assert (seen, row.ran) == ([], [1])


def test_a_look_that_is_not_answered_lets_the_body_run() -> None:
    row = Row(2.0)

    class Away(Delegating):
        def read(self, task_ids: Any) -> dict[str, TaskRecord]:
            raise Unavailable("the ledger is away")

    with testing.world(row.app, settings=INLINE) as world:
        row.world = world
        with row.app.batch():
            row.slow.delay()
            row.next.delay(1)
        replace_ledger(world, Away(world.ports.ledger))
        world.step()
        assert "revocations not read; the last known state holds" in world.telemetry.messages("warning")
    assert row.ran == [1]


def replace_ledger(world: testing.World, ledger: Any) -> None:
    """Let what looks at the world's ledger see *ledger*."""
    look = world.worker._execution.look
    look._ports = replace(world.ports, ledger=ledger)


def test_an_async_body_whose_turn_comes_late_is_looked_at_too() -> None:
    app, ran = Sedano("row", retry=NEVER), list[int]()
    app.coroutines(least=1, most=1)

    @app.task(name="slow")
    async def slow(n: int) -> None:
        await asyncio.sleep(0)
        world.clock.advance(10.0)
        ran.append(n)

    with testing.world(app, settings=INLINE) as world:
        with app.batch():
            results = [slow.apply_async((n,), expires=5) for n in range(3)]
        world.step()
        assert sorted(result.state for result in results) == [states.EXPIRED, states.EXPIRED, states.SUCCESS]
    assert len(ran) == 1


@pytest.mark.parametrize("on_open", ["wait", "fail"])
def test_three_failures_let_exactly_three_of_a_batch_of_ten_run(on_open: Any) -> None:
    kitchen = Kitchen(circuit=Breaker(failures=3, on_open=on_open))
    kitchen.broken = True
    with testing.world(kitchen.app, settings=INLINE) as world:
        with kitchen.app.batch():
            results = [kitchen.cook.delay(n) for n in range(10)]
        world.step()
        failed = [line for line in world.telemetry.lines if line.message == "task failed"]
        assert len(failed) == 3
        assert world.telemetry.counted("CircuitsTripped") == 1
        assert world.telemetry.counted("CircuitsOpen") == 7
        kitchen.broken = False
        world.drain()
        waited = [result for result in results if result.state == states.SUCCESS]
        assert len(waited) == len(kitchen.cooked) == (7 if on_open == "wait" else 0)
        assert sum(result.state == states.FAILURE for result in results) == (3 if on_open == "wait" else 10)
        assert not world.parked()


def test_a_success_in_between_begins_the_count_anew() -> None:
    app, ran = Sedano("row", retry=Retry(max_retries=0)), list[int]()

    @app.task(name="cook", circuit=Breaker(failures=2))
    def cook(n: int) -> None:
        ran.append(n)
        if n % 2 == 0:
            raise RuntimeError("every second one")

    with testing.world(app, settings=INLINE) as world:
        with app.batch():
            for n in range(6):
                cook.delay(n)
        world.step()
        tripped = world.telemetry.counted("CircuitsTripped")
    assert (ran, tripped) == ([0, 1, 2, 3, 4, 5], 0)


def test_a_circuit_of_all_workers_is_written_once_a_failure_and_no_more_often() -> None:
    kitchen = Kitchen(circuit=Breaker(failures=3, shared=True))
    kitchen.broken = True
    with testing.world(kitchen.app, settings=INLINE) as world:
        with kitchen.app.batch():
            for n in range(10):
                kitchen.cook.delay(n)
        world.step()
        assert sum(line.message == "task failed" for line in world.telemetry.lines) == 3
        assert world.telemetry.counted("CircuitsTripped") == 1
