"""A worker whose clock is wrong ends no task that has time left, and every task that has expired: the store's clock decides."""

from dataclasses import replace

import pytest

from sedano.engine.worker.pipeline import WorkerSettings
from sedano.model import states
from sedano.ports import PARKED, clock_unknown
from tests.simulation.outages import Wrong
from tests.stories.processes import INVOCATION_S, Processes
from tests.stories.shop import Shop
from tests.stories.stage import Stage

SETTINGS = WorkerSettings(lanes=0)


def wrong(stage: Stage, shop: Shop, off: float, known: bool = True) -> Processes:
    """Processes of *shop* whose clocks are wrong by *off* seconds; the publisher's is right, and so is the store's where it is *known*."""
    processes = Processes(stage, shop.app, SETTINGS)
    processes.invocation = INVOCATION_S + off  # a deadline is read from the worker's own clock
    store_time = stage.ports.leases.time if known else clock_unknown
    processes.restart(replace(stage.ports, clock=Wrong(stage.clock, off), store_time=store_time))
    return processes


def reasons(stage: Stage) -> list[str]:
    """Why messages were parked."""
    return [message.attributes["reason"] for message in stage.peek(PARKED)]


@pytest.mark.parametrize("off", [-250.0, 0.0, 6.0, 250.0, 600.0])
def test_a_task_that_has_time_left_runs_at_the_first_batch_of_a_worker(stage: Stage, shop: Shop, off: float) -> None:
    processes = wrong(stage, shop, off)
    result = shop.add.apply_async((1, 2), expires=60)
    stage.pass_time(55.0)
    processes.deliver()
    assert (result.state, reasons(stage)) == (states.SUCCESS, [])
    stage.telemetry.flush()
    assert stage.telemetry.counted("ClocksWrong") == (off > 5.0)


@pytest.mark.parametrize("off", [-250.0, 0.0, 250.0, 600.0])
def test_a_task_that_has_expired_ends(stage: Stage, shop: Shop, off: float) -> None:
    processes = wrong(stage, shop, off)
    result = shop.add.apply_async((1, 2), expires=60)
    stage.pass_time(61.0)
    processes.deliver()
    assert (result.state, shop.ran["add"], reasons(stage)) == (states.EXPIRED, 0, ["expired"])


@pytest.mark.parametrize("off", [-250.0, 600.0])
@pytest.mark.parametrize(("expires", "state"), [(25.0, states.SUCCESS), (15.0, states.EXPIRED)])
def test_a_task_behind_others_of_its_batch_is_judged_so_too(stage: Stage, shop: Shop, off: float, expires: float, state: str) -> None:
    slow = shop.task("slow", lambda: stage.pass_time(20.0))
    processes = wrong(stage, shop, off)
    with shop.app.batch():
        slow.delay()
        result = shop.add.apply_async((1, 2), expires=expires)
    processes.deliver()
    assert result.state == state


def test_where_nothing_is_known_of_the_stores_clock_the_workers_own_is_believed(stage: Stage, shop: Shop) -> None:
    processes = wrong(stage, shop, 600.0, known=False)
    result = shop.add.apply_async((1, 2), expires=60)
    processes.deliver()
    assert result.state == states.EXPIRED
