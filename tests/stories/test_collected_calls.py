"""Debounce and batch: the last call runs after the quiet, many calls run as one, and no crash loses any."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sedano import Call, Retry, Sedano, group, testing
from sedano.engine.worker.pipeline import Worker, WorkerSettings
from sedano.errors import OptionError, SedanoError, WorkflowInvalid
from sedano.model import states
from sedano.model.collection import MOST_BASKET_BYTES
from sedano.model.history.run_rows import Host
from sedano.ports import command_queue
from sedano.workflow import Step, Workflow
from tests.stories.taps import Watch, away, tapped

app = Sedano("collected", retry=Retry(max_retries=2, interval_start=5, jitter=False))
COMMANDS = command_queue("default")
ran: list[Any] = []
fail = [0]


@app.task(name="reindex", debounce="30s", key="{shop}")
def reindex(shop: str, revision: int) -> int:
    """Index a shop anew, when its last change is half a minute ago."""
    ran.append((shop, revision))
    return revision


@app.task(name="store", batch=(5, "10s"), key=lambda table, *_: table)
def store(calls: list[Call]) -> None:
    """Store many rows at once."""
    if fail[0]:
        fail[0] -= 1
        raise ValueError("not now")
    ran.append(calls)


@app.task(name="gather", batch=(50, 5))
async def gather(calls: list[Call]) -> None:
    """Gather, in a coroutine."""
    ran.append([call.kwargs for call in calls])


@pytest.fixture
def world() -> Iterator[testing.World]:
    """The app in memory."""
    ran.clear()
    fail[0] = 0
    with testing.world(app) as built:
        yield built


def arguments() -> list[list[tuple[Any, ...]]]:
    """The arguments of the calls of each batch."""
    return [[call.args for call in calls] for calls in ran]


def test_the_last_call_runs_after_the_quiet_and_the_others_end_as_superseded(world: testing.World) -> None:
    results = []
    for revision in range(4):
        results.append(reindex.delay("a", revision))
        world.step()
        world.clock.advance(20)
        world.step()
    other = reindex.delay("b", 9)
    world.drain()
    assert ran == [("a", 3), ("b", 9)]
    assert [result.state for result in results] == [states.REVOKED] * 3 + [states.SUCCESS]
    assert results[3].get() == 3
    assert other.get() == 9


def test_calls_with_quiet_between_them_run_each(world: testing.World) -> None:
    for revision in range(2):
        reindex.delay("a", revision)
        world.drain()
        world.clock.advance(31)
    assert ran == [("a", 0), ("a", 1)]


def test_the_last_call_is_the_one_that_was_published_last_whatever_the_queue_does(world: testing.World) -> None:
    reindex.delay("a", 1)
    (first,) = world.ports.queues.receive(COMMANDS)
    reindex.delay("a", 2)
    world.step()
    world.ports.queues.hold(first, 0)
    world.drain()
    assert ran == [("a", 2)]


def test_a_debounced_call_whose_message_comes_twice_runs_once(world: testing.World) -> None:
    reindex.delay("a", 1)
    (found,) = world.ports.queues.receive(COMMANDS)
    world.queues.duplicate(found)
    world.ports.queues.hold(found, 0)
    world.drain()
    assert ran == [("a", 1)]


def works_while_away(world: testing.World, port: str) -> None:
    """Let a worker whose *port* does not answer work on one batch; what it does not give back is deleted, as Lambda does."""
    watch = Watch(at=0, times=10**6, error=away, ports=frozenset({port}))
    worker = Worker(app.registry, tapped(world.ports, watch), Host("away.1", 1), WorkerSettings(lanes=0), app.run_loop())
    taken = world.ports.queues.receive(COMMANDS)
    back = {one.message_id for one in worker.work(taken, world.clock.now() + 900)}
    world.ports.queues.delete([one for one in taken if one.message_id not in back])
    assert watch.fired


def test_a_debounced_call_that_is_not_sent_anew_stays_in_the_queue(world: testing.World) -> None:
    reindex.delay("a", 1)
    works_while_away(world, "queues")
    world.drain()
    assert ran == [("a", 1)]


def test_calls_are_collected_until_their_slice_is_over(world: testing.World) -> None:
    for n in range(3):
        store.delay("rows", n)
    store.delay("other", 0)
    world.drain()
    assert sorted(arguments()) == [[("other", 0)], [("rows", 0), ("rows", 1), ("rows", 2)]]
    assert all(isinstance(call, Call) and call.id for calls in ran for call in calls)


def test_a_full_basket_runs_at_once_and_the_rest_in_the_next(world: testing.World) -> None:
    for n in range(7):
        store.delay("rows", n)
    began = world.clock.now()
    world.step()
    world.step()
    assert [len(calls) for calls in ran] == [5]
    assert world.clock.now() - began < 1
    world.drain()
    assert sorted(n for calls in arguments() for _, n in calls) == list(range(7))


def test_a_batch_that_fails_is_tried_again_with_the_same_calls(world: testing.World) -> None:
    fail[0] = 1
    for n in range(3):
        store.delay("rows", n)
    world.drain()
    assert arguments() == [[("rows", 0), ("rows", 1), ("rows", 2)]]


def test_named_arguments_and_coroutines_are_collected_too(world: testing.World) -> None:
    for n in range(3):
        gather.delay(n=n)
    world.drain()
    assert ran == [[{"n": 0}, {"n": 1}, {"n": 2}]]


def test_calls_that_together_are_too_long_for_a_basket_run_in_several(world: testing.World) -> None:
    text = "x" * (MOST_BASKET_BYTES // 5)
    for n in range(6):
        store.delay("rows", n, text)
    store.delay("rows", 6, "y" * (MOST_BASKET_BYTES // 3))
    world.drain()
    assert sorted(call[1] for calls in arguments() for call in calls) == list(range(7))
    assert len(ran) >= 3


def test_a_worker_that_dies_before_it_acknowledges_loses_no_call(world: testing.World) -> None:
    for n in range(3):
        store.delay("rows", n)
    taken = world.ports.queues.receive(COMMANDS)
    world.worker.work(taken[:2], world.clock.now() + 900)  # and its messages are not deleted
    world.clock.advance(31)
    world.drain()
    assert {n for calls in arguments() for _, n in calls} == {0, 1, 2}


def test_a_store_that_is_away_delays_calls_and_loses_none(world: testing.World) -> None:
    store.delay("rows", 1)
    reindex.delay("a", 1)
    works_while_away(world, "limits")
    world.drain()
    assert sorted(ran, key=str) == [("a", 1), ran[0] if ran[0] != ("a", 1) else ran[1]]
    assert len(ran) == 2


def test_a_batched_call_keeps_no_result_of_its_own(world: testing.World) -> None:
    result = store.delay("rows", 1)
    with pytest.raises(SedanoError, match="ignore_result"):
        result.get()


@pytest.mark.parametrize("form", [lambda: group(store.s("rows", n) for n in range(3)), lambda: store.s("rows", 1) | reindex.si("a", 1)])
def test_a_canvas_does_not_take_a_task_whose_calls_are_collected(world: testing.World, form: Callable[[], Any]) -> None:
    with pytest.raises(OptionError, match="many calls as one"):
        form().delay()
    world.drain()
    assert ran == []


def test_a_workflow_does_not_take_a_task_whose_calls_are_collected() -> None:
    with pytest.raises(WorkflowInvalid, match=r"step 'kept': task store runs many calls as one \(batch\), so nothing can wait for one"):

        class Keep(Workflow, app=app):
            kept = Step(store.s("rows", 1))


def test_a_key_that_fails_fails_the_call(world: testing.World) -> None:
    result = store.delay()
    world.drain()
    assert not ran
    assert result.state == states.FAILURE
