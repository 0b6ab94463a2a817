"""Stories of order: calls of one serial key end in the order in which they were published, whatever happens to them on the way."""

from collections.abc import Iterator
from typing import Any

import pytest

from sedano import Retry, Sedano, testing
from sedano.engine.parked.redrive import parked, planned, redrive
from sedano.engine.worker.pipeline import WorkerSettings
from sedano.errors import Unavailable, WorkflowInvalid
from sedano.model import refusals, states
from sedano.ports import Outgoing, command_queue
from sedano.testing import World
from sedano.workflow import Input, Step, Workflow
from tests.stories.taps import Watch, away, tapped

ORDERS = command_queue("orders.fifo")
SOON = Retry(max_retries=3, interval_start=5.0, jitter=False)


class Warehouse:
    """An app whose tasks of one queue run in order, and what they did: *done* holds (key, step) as each ended well."""

    def __init__(self) -> None:
        """Declare the tasks."""
        self.app = Sedano("warehouse", queues=("default", "orders.fifo"), retry=SOON)
        self.done: list[tuple[str, Any]] = []
        self.tried: list[tuple[str, Any]] = []
        self.bad: dict[tuple[str, Any], int] = {}
        self.ship = self.app.task(name="ship", queue="orders.fifo", serial_key="{order}")(self._ship)

    def _ship(self, order: str, step: Any) -> Any:
        self.tried.append((order, step))
        if self.bad.get((order, step), 0) > 0:
            self.bad[order, step] -= 1
            raise ValueError("not yet")
        self.done.append((order, step))
        return step

    def of(self, order: str) -> list[Any]:
        """Return the steps of *order* that ended well, in the order in which they did."""
        return [step for key, step in self.done if key == order]


@pytest.fixture
def warehouse() -> Warehouse:
    return Warehouse()


@pytest.fixture
def world(warehouse: Warehouse) -> Iterator[World]:
    with testing.world(warehouse.app, settings=WorkerSettings(lanes=0, heartbeat=0.0)) as world:
        yield world


def wait(world: World, seconds: float) -> None:
    """Let *seconds* pass and workers look at whatever comes."""
    until = world.clock.now() + seconds
    while (due := world.queues.next_visible(ORDERS)) is not None and due <= until:
        world.clock.advance(max(0.0, due - world.clock.now()))
        world.step()
    world.clock.advance(until - world.clock.now())


def test_calls_of_a_key_run_as_they_were_published(warehouse: Warehouse, world: World) -> None:
    results = [warehouse.ship.delay(order, step) for step in range(12) for order in ("a", "b")]
    world.drain()
    assert warehouse.of("a") == warehouse.of("b") == list(range(12))
    assert {result.state for result in results} == {states.SUCCESS}


def test_a_call_that_is_tried_again_keeps_its_place_and_others_do_not_wait_for_it(warehouse: Warehouse, world: World) -> None:
    warehouse.bad["a", 1] = 2
    for step in range(4):
        for order in ("a", "b"):
            warehouse.ship.delay(order, step)
    world.step()
    assert (warehouse.of("a"), warehouse.of("b")) == ([0], [0, 1, 2, 3])
    world.drain()
    assert warehouse.of("a") == [0, 1, 2, 3]
    assert warehouse.tried.count(("a", 1)) == 3


def test_the_tries_of_a_call_that_keeps_its_place_are_counted_and_wait_as_declared(warehouse: Warehouse, world: World) -> None:
    warehouse.bad["a", 0] = 99
    first, second = warehouse.ship.delay("a", 0), warehouse.ship.delay("a", 1)
    began = world.clock.now()
    world.drain()
    assert warehouse.tried == [("a", 0)] * 4 + [("a", 1)]
    assert world.clock.now() - began >= 5 + 10 + 20
    assert (first.state, second.state) == (states.FAILURE, states.SUCCESS)
    assert world.telemetry.counted("TasksRetried") == 3


def test_a_paused_queue_or_task_keeps_order_however_long(warehouse: Warehouse, world: World) -> None:
    for pause in ({"queue": "orders.fifo"}, {"task": "ship"}):
        warehouse.done.clear()
        warehouse.app.control.pause(**pause)
        for step in range(5):
            warehouse.ship.delay("a", step)
        wait(world, 3 * 86_400)
        assert warehouse.done == []
        assert len(world.queues.peek(ORDERS)) == 5, "no message was sent anew"
        warehouse.app.control.resume(**pause)
        world.drain()
        assert warehouse.of("a") == list(range(5))
    assert world.parked() == []
    assert world.queues.dead(ORDERS) == []


def test_what_a_paused_queue_would_forget_is_set_aside_and_comes_again_in_order(warehouse: Warehouse, world: World) -> None:
    warehouse.app.control.pause(queue="orders.fifo")
    for step in range(3):
        warehouse.ship.delay("a", step)
    wait(world, 13.5 * 86_400)
    assert [one.attributes["reason"] for one in world.parked()] == [refusals.STALE] * 3
    assert {one.attributes["serial_key"] for one in world.parked()} == {"a"}
    warehouse.app.control.resume(queue="orders.fifo")
    wait(world, 60.0)
    assert redrive(world.ports, planned(world.ports, parked(world.ports, lambda one: True))) == [None] * 3
    world.drain()
    assert warehouse.of("a") == [0, 1, 2]


def test_a_redriven_message_comes_again_though_its_queue_took_it_a_moment_ago(warehouse: Warehouse, world: World) -> None:
    result = warehouse.ship.delay("a", 0)
    spec = warehouse.app.registry.tasks.pop("ship")
    wait(world, 100.0)
    warehouse.app.registry.tasks["ship"] = spec
    assert redrive(world.ports, planned(world.ports, parked(world.ports, lambda one: one.reason == refusals.UNKNOWN_TASK))) == [None]
    world.drain()
    assert (warehouse.of("a"), result.state) == ([0], states.SUCCESS)


def test_a_call_that_failed_is_run_again_at_the_end_of_its_line(warehouse: Warehouse, world: World) -> None:
    warehouse.bad["a", 0] = 4
    failed, _ = warehouse.ship.delay("a", 0), warehouse.ship.delay("a", 1)
    world.drain()
    again, _ = warehouse.app.control.retry(failed.id), warehouse.ship.delay("a", 2)
    assert {one.serial_key for one in world.queues.peek(ORDERS)} == {"a"}
    world.drain()
    assert (warehouse.of("a"), again.state) == ([1, 0, 2], states.SUCCESS)


def test_a_message_that_is_refused_is_set_aside_and_those_behind_it_go_on(warehouse: Warehouse, world: World) -> None:
    warehouse.ship.delay("a", 0)
    world.queues.send(ORDERS, [Outgoing("{", serial_key="a")])
    warehouse.ship.delay("a", 1)
    world.drain()
    assert warehouse.of("a") == [0, 1]
    (aside,) = world.parked()
    assert (aside.attributes["reason"], aside.attributes["serial_key"]) == (refusals.MALFORMED, "a")


def test_who_waits_for_its_turn_is_told_so(warehouse: Warehouse, world: World) -> None:
    warehouse.bad["a", 0] = 1
    warehouse.ship.delay("a", 0)
    second = warehouse.ship.delay("a", 1)
    world.step()
    world.step()
    assert "of the same serial key a" in warehouse.app.control.explain(second.id).sentence


def test_a_task_that_cannot_run_in_order_is_set_aside_with_the_reason(warehouse: Warehouse, world: World) -> None:
    warehouse.app.task(name="loose", delivery="at_least_once", ignore_result=True)(lambda: warehouse.done.append(("loose", 0)))
    warehouse.app.send_task("loose")
    (loose,) = world.queues.receive(command_queue("default"))
    world.queues.delete([loose])
    world.queues.send(ORDERS, [Outgoing(loose.body, serial_key="a")])
    warehouse.ship.delay("a", 0)
    world.drain()
    assert [one.attributes["reason"] for one in world.parked()] == [refusals.ORDER]
    assert warehouse.done == [("a", 0)]


def test_what_a_task_publishes_in_order_is_published_in_order_again(warehouse: Warehouse, world: World) -> None:
    @warehouse.app.task(name="fan")
    def fan() -> None:
        for step in range(5):
            warehouse.ship.delay("a", step)

    result = fan.delay()
    (delivery,) = world.queues.receive(command_queue("default"))
    world.queues.duplicate(delivery)
    assert world.worker.work([delivery], world.clock.now() + 60.0) == []
    world.drain()
    assert (warehouse.of("a"), result.state) == (list(range(5)), states.SUCCESS)


def test_a_task_that_runs_in_order_is_replaced_by_nothing(warehouse: Warehouse, world: World) -> None:
    @warehouse.app.task(name="swap", queue="orders.fifo", serial_key="all", bind=True, retry=False)
    def swap(self: Any) -> None:
        self.replace(warehouse.ship.s("a", 1))

    result = swap.delay()
    world.drain()
    assert result.state == states.FAILURE
    assert "keeps order within a key, but a replacement runs without an order" in str(result.result)


def test_a_workflow_with_a_step_that_keeps_order_is_refused_where_it_is_declared(warehouse: Warehouse) -> None:
    pack = warehouse.app.task(name="pack")(lambda order: order)
    with pytest.raises(WorkflowInvalid) as refused:

        class Deliver(Workflow, app=warehouse.app):
            order = Input(str)
            packed = Step(pack.s(order), compensate=warehouse.ship.s(order, "back"))
            sent = Step(warehouse.ship.s(order, "out"), after=packed)

    for step in ("step 'packed': compensate: task ship", "step 'sent': task ship"):
        assert f"{step} keeps order (serial_key), but a run starts its steps in no fixed order; let a step call" in str(refused.value)


def test_what_the_queue_does_not_take_is_raised_and_nothing_comes_later_in_its_place(warehouse: Warehouse, world: World) -> None:
    watch = Watch(0, error=away, ports=frozenset({"queues"}), times=4)
    warehouse.app.attach(tapped(world.ports, watch))
    with pytest.raises(Unavailable):
        warehouse.ship.delay("a", 0)
    warehouse.ship.delay("a", 1)
    world.drain()
    assert (warehouse.of("a"), watch.fired) == ([1], True)
