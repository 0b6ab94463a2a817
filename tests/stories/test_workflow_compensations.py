"""What a run left undone: a compensation that fails for good, or kills worker after worker, is named, and undone before anything else."""

from collections import Counter

import pytest

from sedano.errors import FlowFailed, WrongFlowState
from tests.stories.processes import Processes
from tests.stories.stage import Stage
from tests.stories.test_poison import KILLS, survive
from tests.stories.workshop import Workshop, line, states_of

POISONED = (
    "Poison: 5 claims of one attempt ended without a record; the body takes longer than its function's time limit, or it ends its process"
)


def test_a_poisonous_compensation_is_named_wherever_the_run_is_looked_at(stage: Stage, workshop: Workshop) -> None:
    processes = Processes(stage, workshop.app)
    workshop.broken, workshop.deadly = {"ship"}, {"refund"}
    result = workshop.fulfil.delay(order=7)
    assert survive(processes) == KILLS
    assert (result.state, states_of(result)["charge"]) == ("FAILED", "COMPENSATION_FAILED")
    assert result.uncompensated == result.show().uncompensated == {"charge": POISONED}
    assert result.show().cause.startswith("step ship: ValueError")
    assert f"and is FAILED: step ship: ValueError: ship ['TEA', 'POT'] is broken; not undone: charge ({POISONED})" in (
        workshop.app.control.explain(result.id).sentence
    )
    assert workshop.done[-1] == "release shelf 7"
    with pytest.raises(FlowFailed, match=rf"is FAILED: step ship: .*; not undone: charge \({POISONED}\)"):
        result.get()


def test_a_run_that_undid_everything_names_nothing(stage: Stage, workshop: Workshop) -> None:
    processes = Processes(stage, workshop.app)
    workshop.broken = {"ship"}
    result = workshop.fulfil.delay(order=7)
    assert result.uncompensated == {}
    processes.drain()
    assert (result.state, result.uncompensated) == ("FAILED", {})


def test_a_retry_first_undoes_what_was_left_and_then_begins_again(stage: Stage, workshop: Workshop) -> None:
    processes = Processes(stage, workshop.app)
    workshop.broken, workshop.deadly = {"ship"}, {"refund"}
    result = workshop.fulfil.delay(order=7)
    survive(processes)
    workshop.broken, workshop.deadly = set(), set()
    assert result.retry() == "FAILING"
    assert result.uncompensated == {}
    processes.drain()
    assert (result.state, result.uncompensated, states_of(result)["charge"]) == ("FAILED", {}, "COMPENSATED")
    assert workshop.done[-1] == "refund paid 20"
    assert result.retry() == "RUNNING"
    processes.drain()
    assert result.get() == {"ship": ["TEA", "POT", None]}
    counts = Counter(call.split()[0] for call in workshop.done)
    assert counts == {"price": 1, "reserve": 2, "charge": 2, "pack": 4, "ship": 1, "release": 1, "refund": 1, "unpack": 2}


def test_a_compensation_may_fail_as_often_as_it_is_retried(stage: Stage, workshop: Workshop) -> None:
    processes = Processes(stage, workshop.app)
    workshop.broken = {"ship", "refund", "release"}
    result = workshop.fulfil.delay(order=7)
    processes.drain()
    assert list(result.uncompensated) == ["charge", "reserve"]
    workshop.broken.remove("release")
    for _ in range(2):
        result.retry()
        processes.drain()
        assert (result.state, list(result.uncompensated)) == ("FAILED", ["charge"])
    assert workshop.done.count("release shelf 7") == 1


def test_of_a_map_only_the_calls_that_were_not_undone_are_undone_again(stage: Stage, workshop: Workshop) -> None:
    processes = Processes(stage, workshop.app)
    workshop.lines = ["tea", "pot", "cup"]
    workshop.broken = {"ship", "unpack POT"}
    result = workshop.fulfil.delay(order=7)
    processes.drain()
    assert list(result.uncompensated) == ["pack"]
    assert sorted(call for call in workshop.done if call.startswith("unpack")) == ["unpack CUP", "unpack TEA"]
    for broken in ({"unpack POT"}, set[str]()):
        workshop.broken = broken
        result.retry()
        processes.drain()
    assert (result.state, result.uncompensated) == ("FAILED", {})
    assert sorted(call for call in workshop.done if call.startswith("unpack")) == ["unpack CUP", "unpack POT", "unpack TEA"]


def test_what_somebody_undid_by_hand_is_not_undone_again(stage: Stage, workshop: Workshop) -> None:
    processes = Processes(stage, workshop.app)
    workshop.broken = {"ship", "refund"}
    result = workshop.fulfil.delay(order=7)
    processes.drain()
    with pytest.raises(WrongFlowState, match="reserve cannot be marked as undone, only charge"):
        result.retry(undone=["charge", "reserve"])
    workshop.broken = set()
    assert result.retry(undone="charge") == "RUNNING"
    processes.drain()
    assert result.get() == {"ship": ["TEA", "POT", None]}
    assert workshop.done.count("refund paid 20") == 0


def test_what_is_undone_by_hand_beside_what_is_not_is_shown(stage: Stage, workshop: Workshop) -> None:
    processes = Processes(stage, workshop.app)
    workshop.broken = {"ship", "refund", "release"}
    result = workshop.fulfil.delay(order=7)
    processes.drain()
    assert result.retry(undone=["charge"]) == "FAILING"
    processes.drain()
    assert list(result.uncompensated) == ["reserve"]
    charge = next(step for step in result.show().steps if step.name == "charge")
    assert (charge.state, charge.detail) == ("COMPENSATED", "undone by hand")


def test_a_cancelled_run_goes_on_with_its_cancellation(stage: Stage, workshop: Workshop) -> None:
    flow = line(workshop, lambda n: n)
    workshop.broken = {"refund"}
    processes = Processes(stage, workshop.app)
    result = flow.delay()
    while "work 1" not in workshop.done:
        processes.deliver()
    result.cancel()
    processes.drain()
    assert (result.state, list(result.uncompensated)) == ("CANCELLED", ["first"])
    workshop.broken = set()
    assert result.retry() == "CANCELLING"
    processes.drain()
    assert (result.state, result.uncompensated, workshop.done[-1]) == ("CANCELLED", {}, "refund 1")
