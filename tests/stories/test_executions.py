"""A message that was received too often is set aside, and its task ends with it: nobody waits for ever."""


import pytest

from sedano import Sedano, chord, testing
from sedano.errors import RemoteError
from sedano.model import refusals, states
from sedano.model.messages import codec
from sedano.model.messages.message import Command
from sedano.model.retry import MAX_EXECUTIONS
from sedano.ports import command_queue

app = Sedano("executions")


@app.task
def double(number: int) -> int:
    return 2 * number


@app.task
def total(numbers: list) -> int:
    return sum(numbers)


def deliver(world: testing.World, receives: int) -> None:
    """Deliver what waits as if it had come back so often; acknowledge what is not given back."""
    deliveries = world.queues.receive(command_queue("default"))
    worn = [d._replace(receives=receives) for d in deliveries]
    back = {d.message_id for d in world.worker.work(worn, world.clock.now() + 900)}
    world.queues.delete([d for d in deliveries if d.message_id not in back])


def test_a_task_received_too_often_ends_as_poison_and_its_message_is_set_aside_with_the_reason() -> None:
    with testing.world(app) as world:
        result = double.delay(1)
        deliver(world, MAX_EXECUTIONS + 1)
        assert result.state == states.POISON
        assert [m.attributes["reason"] for m in world.parked()] == [refusals.EXECUTIONS]
        with pytest.raises(RemoteError, match=f"received {MAX_EXECUTIONS + 1} times"):
            result.get(timeout=1)


def test_the_last_allowed_delivery_still_runs_the_task() -> None:
    with testing.world(app) as world:
        result = double.delay(1)
        deliver(world, MAX_EXECUTIONS)
        assert result.get(timeout=1) == 2


def test_a_chord_whose_member_was_received_too_often_fails_instead_of_waiting_for_ever() -> None:
    with testing.world(app) as world:
        result = chord([double.s(1)])(total.s())
        deliver(world, 1)
        (member,) = [m for m in map(codec.decode, world.queues.sent) if isinstance(m, Command) and m.task == double.name]
        assert member.member is not None
        deliver(world, MAX_EXECUTIONS + 1)
        with pytest.raises(RemoteError, match="Poison: received"):
            result.get()
