"""Stories of the question why a task has not run: each answer in one sentence, with its evidence."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from sedano import Breaker, Call, Retry, Sedano, testing
from sedano.cli import main
from sedano.engine.cluster.explanation import Explanation
from sedano.engine.collection import ALONE_BYTES
from sedano.engine.leases import Leasing
from sedano.errors import TaskRevoked
from sedano.model import states
from sedano.model.ledger.records import Claim
from sedano.ports import PARKED, command_queue
from sedano.testing import MOST_RECEIVES
from tests.stories.kitchen import SETTINGS, Kitchen, another_worker, deliver

COMMANDS = command_queue("default")
CLI = Kitchen(circuit=Breaker(failures=1, shared=True))
"""What the command line loads."""
app = CLI.app


@pytest.fixture
def world() -> Iterator[testing.World]:
    """The kitchen in memory."""
    CLI.broken = False
    with testing.world(CLI.app, settings=SETTINGS) as world:
        yield world


def explained(world: testing.World, task_id: str) -> Explanation:
    """Why it has not run, after the history was written."""
    return world.app.control.explain(task_id)


def claim(world: testing.World, task_id: str, seconds: float) -> None:
    """Let a worker hold the task."""
    world.ports.ledger.claim([Claim(task_id, 0, "m", "n", world.clock.now() + seconds, 1, "cook", owner="w-1")])


def test_it_ran(world: testing.World) -> None:
    result = CLI.cook.delay(1)
    world.drain()
    found = explained(world, result.id)
    assert (found.state, found.sentence) == (states.SUCCESS, "it ended as SUCCESS at 2026-01-01 00:00:00Z")


def test_it_failed_with_its_error(world: testing.World) -> None:
    CLI.broken = True
    result = CLI.cook.delay(1)
    world.drain()
    assert explained(world, result.id).sentence.endswith(": RuntimeError: the stove is broken")


def test_it_was_revoked_or_came_too_late_and_the_one_is_not_told_as_the_other(world: testing.World) -> None:
    revoked, late, barred = CLI.cook.delay(1), CLI.cook.apply_async((2,), expires=5), CLI.cook.apply_async((3,), tenant="acme")
    world.app.control.revoke(revoked.id)
    world.app.control.revoke_by_header("tenant", "acme")
    world.clock.advance(65)
    world.drain()
    sentences = [explained(world, result.id).sentence.partition("Z: ")[2] for result in (revoked, late, barred)]
    assert sentences == ["its id was revoked", "TaskExpired: expired 60 s ago", "TaskRevoked: revoked by tenant=acme"]
    with pytest.raises(TaskRevoked, match="expired 60 s ago"):
        late.get()


def test_it_runs_claimed_by_a_worker(world: testing.World) -> None:
    claim(world, "t", 60)
    found = explained(world, "t")
    assert (found.state, found.sentence) == (states.RUNNING, "it runs: claimed by w-1 until 2026-01-01 00:01:00Z")
    world.clock.advance(61)
    assert "that worker was lost" in explained(world, "t").sentence
    assert explained(world, "t").evidence["owner"] == "w-1"


def test_it_waits_for_its_next_try() -> None:
    kitchen = Kitchen(circuit=False, retry=Retry(interval_start=600, interval_max=600, jitter=False))
    with testing.world(kitchen.app, settings=SETTINGS) as world:
        kitchen.broken = True
        result = kitchen.cook.delay(1)
        world.step()
        found = explained(world, result.id)
        assert found.state == states.RETRY
        assert found.sentence.startswith("it is tried again, attempt 1, from 2026-01-01 00:10:00Z")


def test_it_waits_for_its_moment(world: testing.World) -> None:
    result = CLI.cook.apply_async((1,), eta=datetime.fromtimestamp(world.clock.now(), UTC) + timedelta(days=2))
    found = explained(world, result.id)
    assert found.sentence == "it waits for its moment, 2026-01-03 00:00:00Z"
    assert found.evidence["seconds"] == 2 * 86_400


def test_its_circuit_is_open(world: testing.World) -> None:
    CLI.broken = True
    CLI.cook.delay(1)
    world.step()
    CLI.broken = False
    waits = CLI.cook.delay(2)
    world.step()
    found = explained(world, waits.id)
    why = "circuit cook is open since 2026-01-01 00:00:00Z: 1 × failure within 60 s"
    assert found.sentence.startswith(f"{why}; its message is delivered again at 2026-01-01 00:00:3")
    assert (found.evidence["open"], found.evidence["since"]) == (True, 1_767_225_600.0)
    (view,) = world.app.control.inspect().circuits()
    assert (view.name, view.open, view.tasks) == ("cook", True, ("cook",))
    world.clock.advance(40)
    assert "and waits in its queue now (1 wait in default)" in explained(world, waits.id).sentence


@pytest.mark.parametrize("kind", ["task", "tenant", "circuit"])
def test_an_operator_paused_it(world: testing.World, kind: str) -> None:
    name = {"task": "cook", "tenant": "acme", "circuit": "cook"}[kind]
    world.app.control.pause(**{kind: name})
    waits = CLI.cook.apply_async((1,), tenant="acme")
    world.step()
    assert explained(world, waits.id).sentence.startswith(f"paused: {kind} {name}; its message is delivered again at ")


def test_a_singleton_waits_for_the_one_that_runs() -> None:
    app = Sedano("k")

    @app.task(name="tidy", singleton=True)
    def tidy() -> None: ...

    with testing.world(app, settings=SETTINGS) as world:
        Leasing(world.ports).attempt("singleton/tidy/", "w-7", 60_000)
        waits = tidy.delay()
        world.step()
        assert explained(world, waits.id).sentence.startswith("singleton held by w-7; its message is delivered again at ")


def test_it_has_a_slot_of_its_rate_or_its_concurrency_is_zero() -> None:
    app = Sedano("k")
    paced = app.task(name="paced", rate="1/m")(lambda: None)
    narrow = app.task(name="narrow", concurrency=1)(lambda: None)
    with testing.world(app, settings=SETTINGS) as world:
        results = [paced.delay() for _ in range(2)]
        world.step()
        (later,) = [result for result in results if not result.ready()]
        assert explained(world, later.id).sentence.startswith("rate limit: slot at 2026-01-01T00:01:00")
        app.control.concurrency("narrow", 0)
        world.clock.advance(1)
        waits = narrow.delay()
        world.step()
        assert explained(world, waits.id).sentence.startswith("suspended: concurrency is 0; its message is delivered again at ")


def test_another_holds_its_permit_and_both_are_named() -> None:
    app = Sedano("k")

    @app.task(name="draw", concurrency=1)
    def draw(n: int) -> None:
        if n == 1:
            draw.apply_async((2,), task_id="second")
            world.clock.advance(1)
            deliver(world, another_worker(world))

    with testing.world(app, settings=SETTINGS) as world:
        draw.apply_async((1,), task_id="first")
        draw.apply_async((2,), task_id="second", countdown=1)
        world.step()
        found = explained(world, "second")
        assert found.sentence.startswith("permit held by draw first on memory.1.00000000; its message is delivered again at 2026-01-01 00:")
        assert found.evidence["hostname"] == "memory.9.00000000", "who held it back"
        world.clock.advance(3_600)
        world.drain()
        assert explained(world, "second").state == states.SUCCESS


def test_it_waits_in_a_basket_for_other_calls_and_then_for_the_task_that_runs_them() -> None:
    app = Sedano("k", queues=("default",))
    fail = [True]

    @app.task(name="store", batch=(3, "1m"), retry=Retry(max_retries=1, interval_start=300, interval_max=300, jitter=False))
    def store(calls: list[Call]) -> None:
        if fail.pop():
            raise ValueError("the table is locked")

    with testing.world(app, settings=SETTINGS) as world:
        world.clock.advance(10)
        results = [store.delay(n) for n in range(2)]
        world.step()
        found = explained(world, results[0].id)
        since, latest = "2026-01-01 00:00:10Z", "2026-01-01 00:01:02Z"
        assert found.sentence == f"it waits for other calls of store since {since}; they run as one at {latest} at the latest"
        assert (found.state, found.evidence["since"], found.evidence["until"]) == (states.PENDING, 1_767_225_610.0, 1_767_225_662.0)
        batch = found.evidence["batch"]
        assert explained(world, results[1].id).evidence["batch"] == batch, "both are run by one task"
        world.clock.advance(60)
        collected = f"it was collected at {since} and is run with other calls by the task {batch}: "
        late = f"it was held back until {latest} (batch: waiting for other calls) and waits in its queue now (1 wait in default)"
        assert explained(world, results[0].id).sentence == collected + late
        world.step()
        found = explained(world, results[0].id)
        again = "it is tried again, attempt 1, from 2026-01-01 00:06:10Z after ValueError: the table is locked"
        assert (found.state, found.sentence) == (states.RETRY, collected + again)
        fail.append(False)
        world.drain()
        assert explained(world, results[0].id).sentence == collected + "it ended as SUCCESS at 2026-01-01 00:06:10Z"


def test_a_full_basket_is_run_at_once_and_a_call_that_is_too_long_for_one_by_itself() -> None:
    app = Sedano("k")
    store = app.task(name="store", batch=(2, "1m"))(lambda calls: None)
    with testing.world(app, settings=SETTINGS) as world:
        results = [store.delay(n) for n in range(2)] + [store.delay("x" * ALONE_BYTES)]
        world.step()
        full, other, alone = (explained(world, result.id) for result in results)
        assert full.evidence["batch"] == other.evidence["batch"] != alone.evidence["batch"]
        assert all("and is run with other calls by the task" in found.sentence for found in (full, other, alone))
        world.step()
        assert {explained(world, result.id).state for result in results} == {states.SUCCESS}


def test_a_debounced_call_waits_for_quiet_and_a_later_one_takes_its_place() -> None:
    app = Sedano("k")
    index = app.task(name="index", debounce="20m")(lambda n: n)
    with testing.world(app, settings=SETTINGS) as world:
        first = index.delay(1)
        world.step()
        world.clock.advance(1_000)
        world.step()
        found = explained(world, first.id)
        quiet = "debounce: waiting for quiet since 2026-01-01 00:00:00Z; it runs at 2026-01-01 00:20:00Z unless a later call arrives"
        assert (found.sentence, found.evidence["since"]) == (quiet, 1_767_225_600.0)
        last = index.delay(2)
        world.drain()
        assert explained(world, last.id).state == states.SUCCESS
        found = explained(world, first.id)
        assert found.state == states.REVOKED
        assert found.sentence.endswith(f"a later call, {last.id}, took its place")


def test_it_is_paused_by_its_id_before_a_worker_saw_it(world: testing.World) -> None:
    world.app.control.pause(id="t-1")
    assert explained(world, "t-1").sentence == "it is paused by its id"


def test_its_queue_is_paused(world: testing.World) -> None:
    waits = CLI.cook.delay(1)
    world.app.control.pause(queue="default", until=datetime(2026, 1, 1, 4, tzinfo=UTC))
    assert explained(world, waits.id).sentence == "its queue is paused: default until 2026-01-01 04:00:00Z"
    world.app.control.pause(queue="default")
    found = explained(world, waits.id)
    assert found.sentence == "its queue is paused: default"
    assert found.evidence["load"] == {"default": {"waiting": 1, "running": 0}}


def test_it_was_parked_because_nobody_knows_its_task(world: testing.World) -> None:
    waits = CLI.app.send_task("kitchen.gone", task_id="t-2")
    world.drain()
    found = explained(world, waits.id)
    assert found.sentence == "parked: unknown-task, no task 'kitchen.gone' in this deployment; `sedano parked redrive` sends it again"
    assert found.evidence["queue"] == COMMANDS
    assert len(world.queues.peek(PARKED)) == 1


def test_it_lies_in_the_dead_letters(world: testing.World) -> None:
    waits = CLI.cook.delay(1)
    for _ in range(MOST_RECEIVES + 1):
        for delivery in world.queues.receive(COMMANDS):
            world.queues.hold(delivery, 0.0)
    assert explained(world, waits.id).sentence.startswith("it lies in the dead letters of default: it was received too often")


def test_nobody_has_seen_it(world: testing.World) -> None:
    waits = CLI.cook.delay(1)
    for task_id in (waits.id, "never-published"):
        sentence = explained(world, task_id).sentence
        assert sentence == "no worker has seen it: it waits in its queue (1 wait in default), or it was never published"


def test_the_command_line_says_the_same(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    claim(world, "t", 60)
    reference = ["--app", "tests.stories.test_explain:app"]
    assert main(["explain", *reference, "t"]) == 0
    assert capsys.readouterr().out.startswith("t is RUNNING: it runs: claimed by w-1 until 2026-01-01 00:01:00Z\n")
    assert main(["explain", *reference, "t", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["evidence"]["owner"] == "w-1"


def test_the_cluster_is_looked_at_with_celerys_names(world: testing.World) -> None:
    CLI.cook.apply_async((1,), countdown=3_600, task_id="later")
    CLI.cook.delay(1)
    world.step()
    look = world.app.control.inspect()
    assert look.registered() == ["cook", "serve"]
    assert [task.task_id for task in look.scheduled()] == ["later"]
    assert look.active() == {"memory.1.00000000": []}
    assert look.reserved() == {"default": 0}
    assert look.limits() == {"default": 10}
    assert look.stats()["workers"]["memory.1.00000000"]["state"] == "ACTIVE"
    world.app.control.pause(task="cook")
    assert look.paused() == {"task=cook"}
