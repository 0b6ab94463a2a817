"""What consumes the queues: how much there is to do, and what was given up, without taking anything away."""

import pytest

from sedano.errors import ConfigurationError, UnknownQueue
from sedano.model.budgets import Load
from sedano.ports import Outgoing
from tests.conformance.worlds import COMMANDS, World


def test_it_tells_what_waits_and_what_is_in_flight(world: World) -> None:
    assert world.consumers.load(COMMANDS) == Load(0, 0)
    world.queues.send(COMMANDS, [Outgoing(f"body {n}") for n in range(3)])
    assert world.consumers.load(COMMANDS) == Load(3, 0)
    (first,) = world.queues.receive(COMMANDS, 1)
    assert world.consumers.load(COMMANDS) == Load(2, 1)
    world.queues.delete([first])
    assert world.consumers.load(COMMANDS) == Load(2, 0)


def test_dead_letters_are_shown_and_stay(world: World) -> None:
    assert world.consumers.dead(COMMANDS, 10) == []
    world.queues.send(COMMANDS, [Outgoing("poison")])
    for _ in range(world.max_receives + 1):
        for delivery in world.queues.receive(COMMANDS):
            world.queues.hold(delivery, 0.0)
    for _ in range(2):
        assert [letter.body for letter in world.consumers.dead(COMMANDS, 10)] == ["poison"]
    assert world.consumers.load(COMMANDS) == Load(0, 0)


def test_a_queue_that_is_not_there_is_named(world: World) -> None:
    for call in (world.consumers.load, lambda queue: world.consumers.dead(queue, 1)):
        with pytest.raises(UnknownQueue, match="queue: 'gone' is not known to this deployment"):
            call("commands:gone")


def test_limits_are_set_only_where_the_mapping_is_known(aws_world: World) -> None:
    assert aws_world.consumers.limit(COMMANDS) is None
    with pytest.raises(ConfigurationError, match="SEDANO_MAPPINGS does not name"):
        aws_world.consumers.set_limit(COMMANDS, 5)
