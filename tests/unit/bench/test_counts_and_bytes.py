"""The numbers of the design that are the same on every machine: calls and bytes."""

from collections.abc import Mapping

import pytest

from benchmarks import calls, sizes
from benchmarks.calls import Calls
from infra import task_cost

TASKS = 2 * calls.BATCH


@pytest.fixture(scope="module")
def counted() -> Mapping[str, Calls]:
    """The calls of every way to deliver, counted once; `make bench` counts those of a hundred tasks."""
    return calls.counted(TASKS)


def test_publishing_costs_a_tenth_of_a_call_in_tens(counted: Mapping[str, Calls]) -> None:
    assert counted["claimed"].published() == 0.1


def test_a_group_of_any_size_is_one_call_of_its_publisher_and_its_launch_sends_in_tens(counted: Mapping[str, Calls]) -> None:
    group = counted["group"]
    assert (group.published(), group.writes()) == (1 / TASKS, 2 + 2 / TASKS)
    assert group.sends() == pytest.approx(0.1 + task_cost.SENDS_A_BATCH * (1 / calls.BATCH + 1 / TASKS))


@pytest.mark.parametrize(("delivery", "writes"), [("claimed", 2), ("record_once", 1), ("at_least_once", 0)])
def test_a_task_writes_what_its_delivery_needs_and_no_more(counted: Mapping[str, Calls], delivery: str, writes: int) -> None:
    assert counted[delivery].writes() == writes
    assert task_cost.WRITES[delivery] == writes, "the cost page of a deployment counts the same"


def test_nothing_is_read_before_it_is_written(counted: Mapping[str, Calls]) -> None:
    assert {way: found.reads() for way, found in counted.items()} == dict.fromkeys(counted, 0)


def test_a_batch_tells_its_history_in_one_message(counted: Mapping[str, Calls]) -> None:
    told = {way: found.sends() for way, found in counted.items() if way != "group"}
    assert told == dict.fromkeys(told, task_cost.SENDS_A_BATCH / calls.BATCH)


def test_a_worker_makes_no_other_call(counted: Mapping[str, Calls]) -> None:
    assert set().union(*(found.work for found in counted.values())) == {"dynamodb.UpdateItem", "sqs.SendMessageBatch"}


def test_a_small_command_is_a_small_message() -> None:
    assert len(sizes.message().encode()) <= sizes.MESSAGE_TARGET


def test_the_layer_is_small_beside_its_packages() -> None:
    assert 100_000 < sizes.zipped() <= sizes.LAYER_TARGET
