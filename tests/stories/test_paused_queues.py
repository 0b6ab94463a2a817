"""Stories of paused queues: what waits there does not run, is never counted out, and goes on when the queue does."""

import pytest

from sedano.engine.redelivery import ANEW_AFTER
from sedano.engine.worker.pipeline import WorkerSettings
from sedano.errors import OptionError, Unavailable
from sedano.model import states
from sedano.model.retry import MAX_EXECUTIONS
from sedano.ports import PARKED, command_queue
from tests.stories.processes import COMMANDS, Processes
from tests.stories.shop import Shop
from tests.stories.stage import Stage, in_memory
from tests.stories.taps import Watch, tapped

BULK = command_queue("bulk")
SETTINGS = WorkerSettings(lanes=0, heartbeat=0.0)
"""Workers that hear of everything at once."""


@pytest.fixture
def processes(stage: Stage, shop: Shop) -> Processes:
    """One worker over the stage."""
    return Processes(stage, shop.app, SETTINGS)


def wait(stage: Stage, queue: str) -> None:
    """Let time pass until something of *queue* is visible."""
    hidden = stage.hidden_for([queue])
    assert hidden is not None
    stage.pass_time(hidden + 0.001)


def test_what_lies_in_a_paused_queue_waits_and_runs_when_it_goes_on(stage: Stage, shop: Shop, processes: Processes) -> None:
    assert shop.app.control.pause_queue("bulk") == {"bulk"}
    waits = shop.add.apply_async((1, 2), queue="bulk")
    runs = shop.add.delay(3, 4)
    processes.deliver(BULK)
    processes.deliver(COMMANDS)
    assert (waits.state, runs.state) == (states.PENDING, states.SUCCESS)
    assert shop.app.control.hello().paused == {"bulk"}
    assert shop.app.control.resume_queue("bulk") == frozenset()
    processes.drain()
    assert waits.get() == 3
    assert stage.telemetry.counted("MessagesPaused") == 1


def test_nothing_is_put_off_for_a_pause_that_is_over_and_what_was_comes_within_a_quarter_of_an_hour() -> None:
    stage, shop = in_memory(), Shop()
    processes = Processes(stage, shop.app, WorkerSettings(lanes=0, heartbeat=60.0))
    shop.app.control.pause_queue("default")
    processes.restart()
    waits = shop.add.delay(1, 2)
    for _ in range(12):
        processes.deliver()
        stage.pass_time(600.0)
    shop.add.delay(5, 6)
    processes.deliver()
    shop.app.control.resume_queue("default")
    later, began = shop.add.delay(3, 4), stage.clock.now()
    processes.deliver()
    assert later.state == states.SUCCESS, "the same worker heard of the pause less than a heartbeat ago"
    processes.drain()
    assert waits.get(timeout=1) == 3
    assert stage.clock.now() - began <= 901


def test_a_pause_may_last_longer_than_a_queue_counts_receipts() -> None:
    stage, shop = in_memory(), Shop()
    processes = Processes(stage, shop.app, SETTINGS)
    shop.app.control.pause_queue("default")
    result = shop.add.delay(1, 2)
    began = stage.clock.now()
    for _ in range(3 * MAX_EXECUTIONS):
        wait(stage, COMMANDS)
        processes.deliver()
    assert stage.clock.now() - began > 5 * 3_600
    assert len(stage.peek(COMMANDS)) == 1
    shop.app.control.resume_queue("default")
    processes.drain()
    assert (result.get(), shop.ran["add"]) == (3, 1)
    assert not stage.peek(PARKED)
    assert not stage.dead()


def test_a_message_that_cannot_be_sent_anew_is_held_back() -> None:
    stage, shop = in_memory(), Shop()
    processes = Processes(stage, shop.app, SETTINGS)
    shop.app.control.pause_queue("default")
    shop.add.delay(1, 2)
    for _ in range(ANEW_AFTER - 1):
        processes.deliver()
        wait(stage, COMMANDS)
    watch = Watch(1, "before", lambda: Unavailable("the queue is away"), frozenset({"queues"}))
    worker = processes.another_worker(tapped(stage.ports, watch))
    deliveries = stage.ports.queues.receive(COMMANDS)
    watch.at = len(watch.calls)
    assert worker.work(deliveries, stage.clock.now() + 30) == deliveries
    assert watch.fired
    assert len(stage.peek(COMMANDS)) == 1


def test_a_queue_that_the_app_does_not_have_is_refused(shop: Shop, processes: Processes) -> None:
    with pytest.raises(OptionError, match="not one of this app's queues"):
        shop.app.control.pause_queue("balk")
    with pytest.raises(OptionError, match="not one of this app's queues"):
        shop.app.control.resume_queue("balk")


def test_a_message_that_is_delivered_without_a_claim_is_not_taken_for_a_poison_after_a_pause() -> None:
    stage, shop = in_memory(), Shop()
    ran: list[int] = []
    tick = shop.app.task(name="tick", delivery="at_least_once", ignore_result=True)(ran.append)
    Processes(stage, shop.app, SETTINGS)
    shop.app.control.pause_queue("default")
    tick.delay(1)
    began = stage.clock.now()
    while stage.clock.now() - began < 6 * 3_600:
        Processes(stage, shop.app, SETTINGS).deliver()
        wait(stage, COMMANDS)
    shop.app.control.resume_queue("default")
    Processes(stage, shop.app, SETTINGS).drain()
    assert ran == [1]
    assert not stage.peek(PARKED)
