"""Outages that meet the router and the recorder, and invocations without time: no dead letter and no poison by receipts."""

from dataclasses import dataclass

import pytest

from sedano.model import states
from sedano.model.retry import MAX_EXECUTIONS
from tests.stories.kept import told
from tests.stories.processes import Processes
from tests.stories.shop import Shop
from tests.stories.stage import MOST_RECEIVES, Stage, in_memory
from tests.stories.test_long_outages import DAY_S, SETTINGS, Outage, assert_healthy


def waits_for(stage: Stage, shop: Shop, port: str, seconds: float) -> None:
    """Let *port* be away for *seconds*; then all ends."""
    Outage(stage, shop, port, seconds).last()


@pytest.mark.parametrize("days", [0.1, 4.0])
def test_an_event_that_cannot_be_routed_for_days_is_routed_when_the_outage_is_over(days: float) -> None:
    stage, shop = in_memory(), Shop()
    sizes: list[int] = []
    work = shop.task("sizes", lambda text: sizes.append(len(text)))

    @shop.app.event
    @dataclass(frozen=True)
    class Written:
        text: str

    Written.subscribe(work)
    Processes(stage, shop.app, SETTINGS)
    Written.delay(text="x" * 300_000)
    waits_for(stage, shop, "blobs", days * DAY_S)
    assert sizes == [300_000]
    assert_healthy(stage)


@pytest.mark.parametrize("days", [0.1, 4.0])
def test_history_that_cannot_be_written_for_days_is_written_when_the_outage_is_over(days: float) -> None:
    stage, shop = in_memory(), Shop()
    processes = Processes(stage, shop.app, SETTINGS)
    result = shop.add.delay(1, 2)
    processes.deliver()
    waits_for(stage, shop, "events", days * DAY_S)
    assert told(stage)[result.id].state == states.SUCCESS
    assert_healthy(stage)


@pytest.mark.parametrize("name", ["add", "sized"])
def test_invocations_that_have_no_time_left_for_a_task_poison_it_never(name: str) -> None:
    stage, shop = in_memory(), Shop()
    shop.task("sized", len, delivery="record_once")
    processes = Processes(stage, shop.app, SETTINGS)
    result = shop.add.delay(1, 2) if name == "add" else shop.app.signature("sized", ([1, 2, 3],)).delay()
    processes.invocation = 0.5  # less than a worker keeps free to record what it did
    for _ in range(2 * MAX_EXECUTIONS + MOST_RECEIVES):
        processes.restart()
        processes.deliver()
        stage.pass_time(61.0)
    processes.invocation = 60.0
    processes.restart()
    processes.drain()
    assert result.get(timeout=1) == 3
    assert_healthy(stage)
