"""Workflows: steps in their time and once, compensated backwards when one fails, paused, cancelled, retried, through crashes and copies."""

import asyncio
from collections import Counter
from typing import Any

import pytest

from sedano import testing
from sedano.errors import FlowFailed, WrongFlowState
from sedano.model import states
from sedano.ports import PARKED
from sedano.workflow import Input, Step, Workflow, each, own
from tests.stories.kept import assert_kept, succeeded
from tests.stories.processes import Processes
from tests.stories.stage import Stage
from tests.stories.workshop import Workshop, states_of

COLLECTED = {("sedano.workflow.collect", states.SUCCESS): 1, ("sedano.workflow.patrol", states.SUCCESS): 1}
WHOLE = {**succeeded(price=1, reserve=1, charge=1, pack=2, ship=1, launch=1), **COLLECTED}
UNDONE = {
    **succeeded(price=1, reserve=1, charge=1, pack=2, release=1, refund=1, unpack=2, launch=2),
    ("sedano.workflow.collect", states.SUCCESS): 2, ("ship", states.FAILURE): 1, ("sedano.workflow.patrol", states.SUCCESS): 1,
}  # fmt: skip
ORDER = ["unpack POT", "unpack TEA", "refund paid 20", "release shelf 7"]


def test_a_run_does_every_step_once_and_in_its_time(stage: Stage, workshop: Workshop) -> None:
    processes = Processes(stage, workshop.app)
    result = workshop.fulfil.delay(order=7)
    assert result.state == "PENDING"
    processes.drain()
    assert result.get() == {"ship": ["TEA", "POT", None]}
    assert (result.state, result.value("price")["total"], result.value("wrap")) == ("SUCCEEDED", 20, None)
    order = [call.split()[0] for call in workshop.done]
    assert order.index("charge") > order.index("price")
    assert order.index("charge") > order.index("reserve")
    assert order[-3:] == ["pack", "pack", "ship"]
    assert states_of(result)["wrap"] == "SKIPPED"
    assert [step.calls for step in result.show().steps if step.calls] == [(2, 0, 2)]
    assert_kept(stage, WHOLE)


def test_a_run_is_awaited_as_a_result_is(workshop: Workshop) -> None:
    async def later() -> dict[str, Any]:
        return await workshop.fulfil.delay(order=7)

    with testing.world(workshop.app):
        assert asyncio.run(later()) == {"ship": ["TEA", "POT", None]}


def test_a_failed_run_is_undone_backwards_and_each_once(stage: Stage, workshop: Workshop) -> None:
    processes = Processes(stage, workshop.app)
    workshop.broken = {"ship"}
    result = workshop.fulfil.delay(order=7)
    processes.drain()
    with pytest.raises(FlowFailed, match=r"of fulfil is FAILED: step ship: ValueError: ship \['TEA', 'POT'\] is broken"):
        result.get()
    assert [sorted(workshop.done[-4:-2], reverse=True), *workshop.done[-2:]] == [["unpack TEA", "unpack POT"], *ORDER[2:]]
    compensated = {name for name, state in states_of(result).items() if state == "COMPENSATED"}
    assert compensated == {"reserve", "charge", "pack"}
    assert_kept(stage, UNDONE)


def test_only_the_calls_of_a_map_that_ended_well_are_undone(stage: Stage, workshop: Workshop) -> None:
    processes = Processes(stage, workshop.app)
    workshop.broken = {"pack tea"}
    result = workshop.fulfil.delay(order=7)
    processes.drain()
    assert result.state == "FAILED"
    assert workshop.done[-3:] == ["unpack POT", *ORDER[2:]]
    assert next(step.calls for step in result.show().steps if step.calls) == (1, 1, 2)
    assert stage.peek(PARKED) == []


def test_an_empty_map_is_an_empty_list(stage: Stage, workshop: Workshop) -> None:
    processes = Processes(stage, workshop.app)
    workshop.lines = []
    result = workshop.fulfil.delay(order=7)
    processes.drain()
    assert result.get() == {"ship": [None]}


def test_a_condition_that_holds_lets_its_step_run(stage: Stage, workshop: Workshop) -> None:
    processes = Processes(stage, workshop.app)
    workshop.lines = list("abcdefghijk")
    result = workshop.fulfil.delay(order=7)
    processes.drain()
    assert result.get()["ship"][-1] == "bow"


def test_a_compensation_that_fails_is_shown_and_the_others_run(stage: Stage, workshop: Workshop) -> None:
    processes = Processes(stage, workshop.app)
    workshop.broken = {"ship", "refund"}
    result = workshop.fulfil.delay(order=7)
    processes.drain()
    assert states_of(result)["charge"] == "COMPENSATION_FAILED"
    assert states_of(result)["reserve"] == "COMPENSATED"
    assert workshop.done[-1] == ORDER[-1]


def test_a_retried_run_repeats_what_failed_and_what_was_undone(stage: Stage, workshop: Workshop) -> None:
    processes = Processes(stage, workshop.app)
    workshop.broken = {"ship"}
    result = workshop.fulfil.delay(order=7)
    processes.drain()
    workshop.broken = set()
    assert result.retry() == "RUNNING"
    processes.drain()
    assert result.get() == {"ship": ["TEA", "POT", None]}
    counts = Counter(call.split()[0] for call in workshop.done)
    assert counts == {"price": 1, "reserve": 2, "charge": 2, "pack": 4, "ship": 1, "release": 1, "refund": 1, "unpack": 2}
    with pytest.raises(WrongFlowState, match=f"flow run {result.id} is SUCCEEDED and cannot be retried"):
        result.retry()


def test_a_run_that_waits_after_a_failure_keeps_every_result_when_it_is_retried(stage: Stage, workshop: Workshop) -> None:
    workshop.fulfil = waiting(workshop)
    processes = Processes(stage, workshop.app)
    workshop.broken = {"pack pot"}
    result = workshop.fulfil.delay(order=7)
    processes.drain()
    assert (result.state, states_of(result)["charge"]) == ("FAILED", "SUCCEEDED")
    workshop.broken = set()
    result.retry()
    processes.drain()
    assert result.get() == {"pack": ["TEA", "POT"]}
    assert workshop.done == ["price 7", "charge 20", "pack tea", "pack pot"]


def test_a_run_that_waits_after_a_failure_is_undone_when_it_is_cancelled(stage: Stage, workshop: Workshop) -> None:
    workshop.fulfil = waiting(workshop)
    processes = Processes(stage, workshop.app)
    workshop.broken = {"pack pot"}
    result = workshop.fulfil.delay(order=7)
    processes.drain()
    assert result.cancel() == "CANCELLING"
    processes.drain()
    assert (result.state, workshop.done[-1]) == ("CANCELLED", "refund paid 20")


def waiting(workshop: Workshop) -> Any:
    """A workflow that waits after a failure."""

    class Careful(Workflow, app=workshop.app, on_failure="wait"):
        order = Input(int)
        price = Step(workshop.price.s(order))
        charge = Step(workshop.charge.s(price["total"]), compensate=workshop.refund.s(own))
        pack = Step(workshop.pack.s(each(price["lines"])), after=charge)

    return Careful.flow
