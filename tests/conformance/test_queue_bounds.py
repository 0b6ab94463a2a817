"""The bounds that a Queues port names are those that it has: what is within them is taken, what is beyond them is refused.

The same is asked of queues in memory that are narrower than those of SQS, so that nothing here knows a figure of SQS.
"""

from dataclasses import replace

import pytest

from sedano import memory
from sedano.errors import OptionError, TooLarge
from sedano.model.queues import LEAST_BYTES, QueueBounds
from sedano.ports import Outgoing, command_queue
from tests.conformance.worlds import COMMANDS, World, in_memory, on_one_file, over_aws
from tests.plugins.resources import QUEUES

ORDERS = command_queue("orders.fifo")
NARROW = QueueBounds(max_bytes=LEAST_BYTES, max_batch=3, max_delay=5, ordered=False)
STILL = QueueBounds(max_bytes=2 * LEAST_BYTES, max_batch=1, max_delay=0)


def bounded(bounds: QueueBounds) -> World:
    queues = memory.MemoryQueues(memory.VirtualClock(memory.START), memory.queue_keys(QUEUES), bounds=bounds)
    return replace(in_memory(), name=f"memory, {bounds}", queues=queues)


@pytest.fixture(params=["memory", "sqlite", "moto", pytest.param("ministack", marks=pytest.mark.ministack), "narrow", "still"])
def any_world(request: pytest.FixtureRequest) -> World:
    """Each set of ports, and queues in memory with other bounds."""
    if request.param in ("narrow", "still"):
        return bounded(NARROW if request.param == "narrow" else STILL)
    if request.param == "memory":
        return in_memory()
    if request.param == "sqlite":
        return on_one_file(request.getfixturevalue("tmp_path"))
    return over_aws(request.getfixturevalue("resources" if request.param == "moto" else "timeless_resources"))


def test_a_message_of_the_most_bytes_is_taken_and_one_more_is_refused(any_world: World) -> None:
    queues, most = any_world.queues, any_world.queues.bounds.max_bytes
    assert queues.send(COMMANDS, [Outgoing("x" * most)]) == [None]
    (refused,) = queues.send(COMMANDS, [Outgoing("x" * (most + 1))])
    assert isinstance(refused, TooLarge)
    assert str(most) in str(refused)


def test_a_delay_up_to_the_longest_is_taken_and_one_more_second_is_refused(any_world: World) -> None:
    queues, most = any_world.queues, any_world.queues.bounds.max_delay
    assert queues.send(COMMANDS, [Outgoing("{}", delay=most)]) == [None]
    (refused,) = queues.send(COMMANDS, [Outgoing("{}", delay=most + 1)])
    assert isinstance(refused, OptionError)
    assert f"between 0 and {most} seconds" in str(refused)


def test_a_batch_is_received_whole_and_never_more(any_world: World) -> None:
    queues, most = any_world.queues, any_world.queues.bounds.max_batch
    assert queues.send(COMMANDS, [Outgoing(str(number)) for number in range(most + 1)]) == [None] * (most + 1)
    assert 1 <= len(queues.receive(COMMANDS, most + 1)) <= most


def test_a_key_is_taken_by_queues_that_keep_order_and_refused_by_others(any_world: World) -> None:
    (answer,) = any_world.queues.send(ORDERS, [Outgoing("{}", serial_key="a")])
    assert (answer is None) == any_world.queues.bounds.ordered
    assert answer is None or ("do not keep order" in str(answer) and isinstance(answer, OptionError))


def test_bounds_leave_room_for_what_the_engine_sends(any_world: World) -> None:
    bounds = any_world.queues.bounds
    assert bounds.max_bytes >= LEAST_BYTES
    assert bounds.max_batch >= 1
    assert bounds.max_delay >= 0
    assert 0 < bounds.inline_bytes < bounds.max_bytes // 2
