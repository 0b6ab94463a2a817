"""Queues: what is sent arrives, at least once, within the limits; what is not accepted answers for itself."""

import pytest

from sedano.errors import MessageRefused, OptionError, TooLarge, UnknownQueue
from sedano.model.queues import MAX_BYTES
from sedano.ports import EVENTS, Delivery, Outgoing
from tests.conformance.worlds import COMMANDS, World


def drained(world: World, queue: str = COMMANDS, wait: float = 0.0) -> list[Delivery]:
    """Receive and acknowledge until nothing comes."""
    found: list[Delivery] = []
    while some := world.queues.receive(queue, wait=wait):
        world.queues.delete(some)
        found += some
    return found


def one(world: World, queue: str = COMMANDS, wait: float = 1.0) -> Delivery:
    """Receive the one message that must be there."""
    (delivery,) = world.queues.receive(queue, wait=wait)
    return delivery


def test_what_is_sent_is_received_as_it_was(world: World) -> None:
    body = '{"data":"\\u00e9 <&> \\\\ \\" \\n"}'
    assert world.queues.send(COMMANDS, [Outgoing(body)]) == [None]
    delivery = one(world)
    assert (delivery.queue, delivery.body, delivery.receives, delivery.attributes) == (COMMANDS, body, 1, {})
    assert delivery.sent > 1_700_000_000


def test_attributes_travel(world: World) -> None:
    attributes = {"reason": "unknown-task", "detail": "no task named 'é' here", "source": "worker"}
    world.queues.send(COMMANDS, [Outgoing("{}", attributes=attributes), Outgoing("[]")])
    assert {delivery.body: delivery.attributes for delivery in drained(world)} == {"{}": attributes, "[]": {}}


def test_a_tenant_travels_beside_the_message(world: World) -> None:
    assert world.queues.send(COMMANDS, [Outgoing("{}", tenant="tenant-7"), Outgoing("[]", tenant="a" * 128)]) == [None, None]
    assert sorted(delivery.body for delivery in drained(world)) == ["[]", "{}"]


def test_many_messages_all_arrive_in_as_many_batches_as_they_need(world: World) -> None:
    bodies = [f'{{"number":{number}}}' for number in range(27)]
    assert world.queues.send(COMMANDS, [Outgoing(body) for body in bodies]) == [None] * 27
    assert sorted(delivery.body for delivery in drained(world)) == sorted(bodies)


def test_a_batch_beyond_one_mebibyte_is_split(world: World) -> None:
    large = [Outgoing(str(number) * 400_000) for number in range(4)]
    assert world.queues.send(COMMANDS, large) == [None] * 4
    assert sorted(delivery.body[0] for delivery in drained(world)) == ["0", "1", "2", "3"]


@pytest.mark.parametrize("size", [MAX_BYTES - 1, MAX_BYTES])
def test_a_message_of_exactly_one_mebibyte_is_taken(world: World, size: int) -> None:
    assert world.queues.send(COMMANDS, [Outgoing("x" * size), Outgoing("{}")]) == [None, None]
    assert sorted(len(delivery.body) for delivery in drained(world)) == [2, size]


def test_what_no_queue_would_take_answers_for_itself_and_spares_its_neighbours(world: World) -> None:
    messages = [
        Outgoing("first"),
        Outgoing("x" * (MAX_BYTES + 1)),
        Outgoing("x" * MAX_BYTES, attributes={"reason": "r"}),
        Outgoing("é" * (MAX_BYTES // 2 + 1)),
        Outgoing("nul \x00"),
        Outgoing("surrogate \ud800"),
        Outgoing(""),
        Outgoing("late", delay=901),
        Outgoing("early", delay=-1),
        Outgoing("spaced", tenant="a b"),
        Outgoing("empty attribute", attributes={"reason": ""}),
        Outgoing("too many", attributes={f"a{number}": "1" for number in range(11)}),
        Outgoing("last"),
    ]
    answers = world.queues.send(COMMANDS, messages)
    assert [type(answer) for answer in answers] == [
        type(None), TooLarge, TooLarge, TooLarge, MessageRefused, MessageRefused, MessageRefused,
        OptionError, OptionError, OptionError, OptionError, OptionError, type(None),
    ]  # fmt: skip
    assert sorted(delivery.body for delivery in drained(world)) == ["first", "last"]


def test_no_messages_need_no_call(world: World) -> None:
    assert world.queues.send(COMMANDS, []) == []
    world.queues.delete([])


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("commands:nowhere", "^queue: 'nowhere' is not known to this deployment, which has '.*; name it in Sedano"),
        *[(key, f"^queue: '{key}' is not known to this deployment; ") for key in ("default", "", "https://sqs.example/1/q")],
    ],
)
def test_an_unknown_queue_raises_and_is_never_looked_for(world: World, key: str, told: str) -> None:
    stranger = Delivery(key, "m-1", "receipt", "{}")
    with pytest.raises(UnknownQueue, match=told):
        world.queues.send(key, [Outgoing("{}")])
    with pytest.raises(UnknownQueue):
        world.queues.receive(key)
    with pytest.raises(UnknownQueue):
        world.queues.delete([stranger])
    with pytest.raises(UnknownQueue):
        world.queues.hold(stranger, 1)


def test_queues_are_apart(world: World) -> None:
    world.queues.send(EVENTS, [Outgoing("{}")])
    assert world.queues.receive(COMMANDS) == []
    assert one(world, EVENTS).queue == EVENTS


def test_what_was_received_is_hidden_until_it_is_let_go_and_then_counted_again(world: World) -> None:
    world.queues.send(COMMANDS, [Outgoing("{}")])
    first = one(world)
    assert world.queues.receive(COMMANDS) == []
    world.queues.hold(first, 0)
    again = one(world)
    assert (again.message_id, again.receives, again.body) == (first.message_id, 2, "{}")


def test_what_is_held_comes_back_when_its_time_has_passed_and_not_before(world: World) -> None:
    world.queues.send(COMMANDS, [Outgoing("{}")])
    world.queues.hold(one(world), 1.2)
    assert world.queues.receive(COMMANDS) == []
    assert one(world, wait=4).receives == 2


@pytest.mark.parametrize("seconds", [43_200, 86_400])
def test_a_hold_is_never_refused_or_forgotten_however_long_it_is(world: World, seconds: int) -> None:
    world.queues.send(COMMANDS, [Outgoing("{}")])
    delivery = one(world)
    world.queues.hold(delivery, 0.5)
    (again,) = world.queues.receive(COMMANDS, wait=4)
    world.queues.hold(again, 1)
    world.queues.hold(again, seconds)
    assert world.queues.receive(COMMANDS, wait=2) == [], "the second hold was refused: only the first one counted"
    world.queues.hold(again, 0)
    assert one(world).receives == 3, "it was held under the same receipt all the time"


def test_letting_go_of_what_is_no_longer_held_does_no_harm(world: World) -> None:
    world.queues.send(COMMANDS, [Outgoing("{}")])
    delivery = one(world)
    world.queues.delete([delivery])
    world.queues.hold(delivery, 5)
    world.queues.delete([delivery])
    assert world.queues.receive(COMMANDS) == []


def test_what_is_acknowledged_does_not_come_back(world: World) -> None:
    world.queues.send(COMMANDS, [Outgoing(str(number)) for number in range(10)])
    received = world.queues.receive(COMMANDS)
    kept, done = received[0], received[1:]
    world.queues.delete(done)
    world.queues.hold(kept, 0)
    assert [delivery.body for delivery in drained(world, wait=1)] == [kept.body]


def test_a_delayed_message_is_not_received_before_its_time(world: World) -> None:
    world.queues.send(COMMANDS, [Outgoing("later", delay=2), Outgoing("now")])
    assert one(world).body == "now"
    assert one(world, wait=5).body == "later"


def test_at_most_ten_messages_come_at_once_and_fewer_when_asked(world: World) -> None:
    world.queues.send(COMMANDS, [Outgoing(str(number)) for number in range(14)])
    assert len(world.queues.receive(COMMANDS, most=3)) <= 3
    assert len(world.queues.receive(COMMANDS, most=50)) <= 10


def test_an_empty_queue_gives_nothing_after_the_wait(world: World) -> None:
    assert world.queues.receive(COMMANDS) == []
    assert world.queues.receive(COMMANDS, wait=1.0) == []


def test_a_message_that_was_received_too_often_is_set_aside(world: World) -> None:
    world.queues.send(COMMANDS, [Outgoing("{}")])
    receives = []
    while found := world.queues.receive(COMMANDS):
        receives += [delivery.receives for delivery in found]
        world.queues.hold(found[0], 0)
    assert receives == list(range(1, world.max_receives + 1))
