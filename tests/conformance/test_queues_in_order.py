"""Queues that keep order: within a key messages come as they were sent, one receiver at a time; between keys nothing is promised."""

from collections import defaultdict

import pytest

from sedano.errors import OptionError, TooLarge
from sedano.model.queues import MAX_BYTES
from sedano.ports import Delivery, Outgoing, command_queue
from tests.conformance.worlds import COMMANDS, World

ORDERS = command_queue("orders.fifo")


def in_order(key: str, *bodies: str) -> list[Outgoing]:
    return [Outgoing(body, serial_key=key) for body in bodies]


def by_key(deliveries: list[Delivery]) -> dict[str | None, list[str]]:
    found = defaultdict(list)
    for delivery in deliveries:
        found[delivery.serial_key].append(delivery.body)
    return dict(found)


def drained(world: World, wait: float = 0.0) -> list[Delivery]:
    """Receive and acknowledge until nothing comes."""
    found: list[Delivery] = []
    while some := world.queues.receive(ORDERS, wait=wait):
        world.queues.delete(some)
        found += some
    return found


def test_what_is_sent_for_a_key_comes_in_order_and_names_its_key(world: World) -> None:
    messages = [Outgoing(f"{key}{number}", serial_key=key) for number in range(12) for key in ("a", "b")]
    assert world.queues.send(ORDERS, messages) == [None] * 24
    assert by_key(drained(world)) == {key: [f"{key}{number}" for number in range(12)] for key in ("a", "b")}


def test_many_calls_keep_one_order(world: World) -> None:
    for number in range(7):
        assert world.queues.send(ORDERS, in_order("a", str(number))) == [None]
    assert [delivery.body for delivery in drained(world)] == [str(number) for number in range(7)]


def test_while_a_message_of_a_key_is_out_none_of_that_key_is_given_to_others(world: World) -> None:
    world.queues.send(ORDERS, in_order("a", "first", "second"))
    (first,) = world.queues.receive(ORDERS, most=1)
    world.queues.send(ORDERS, in_order("b", "free"))
    (free,) = world.queues.receive(ORDERS)
    assert (first.body, free.body) == ("first", "free")
    world.queues.delete([first])
    assert [delivery.body for delivery in world.queues.receive(ORDERS)] == ["second"]


def test_what_is_let_go_comes_again_in_its_place(world: World) -> None:
    world.queues.send(ORDERS, in_order("a", "1", "2", "3"))
    received = world.queues.receive(ORDERS)
    world.queues.delete(received[:1])
    for delivery in received[1:]:
        world.queues.hold(delivery, 0)
    again = world.queues.receive(ORDERS)
    assert [(delivery.body, delivery.receives) for delivery in again] == [("2", 2), ("3", 2)]


def test_what_is_held_back_keeps_those_behind_it_back(world: World) -> None:
    world.queues.send(ORDERS, in_order("a", "1", "2"))
    first, second = world.queues.receive(ORDERS)
    world.queues.hold(first, 1.2)
    world.queues.hold(second, 0)
    assert world.queues.receive(ORDERS) == []
    assert [delivery.body for delivery in world.queues.receive(ORDERS, wait=4)] == ["1", "2"]


def test_those_behind_keep_the_first_back_while_they_are_out(world: World) -> None:
    world.queues.send(ORDERS, in_order("a", "1", "2"))
    first, second = world.queues.receive(ORDERS)
    world.queues.hold(first, 0)
    assert world.queues.receive(ORDERS) == [], "the second is out, so the first is not given to another receiver"
    world.queues.hold(second, 0)
    assert [delivery.body for delivery in world.queues.receive(ORDERS)] == ["1", "2"]


def test_a_copy_is_taken_and_dropped_unless_it_is_said_to_be_another(world: World) -> None:
    world.queues.send(ORDERS, in_order("a", "one"))
    assert world.queues.send(ORDERS, in_order("a", "one")) == [None]
    assert [delivery.body for delivery in drained(world)] == ["one"]
    assert world.queues.send(ORDERS, [Outgoing("one", serial_key="a", once="again")]) == [None]
    assert [delivery.body for delivery in drained(world)] == ["one"]


def test_the_same_words_for_another_key_are_no_copy(world: World) -> None:
    if world.name == "moto":
        pytest.skip("moto knows copies by the queue, whatever its DeduplicationScope says")
    world.queues.send(ORDERS, [*in_order("a", "one"), *in_order("b", "one")])
    assert by_key(drained(world)) == {"a": ["one"], "b": ["one"]}


def test_what_has_no_place_in_an_order_answers_for_itself_and_spares_its_neighbours(world: World) -> None:
    messages = [
        Outgoing("first", serial_key="a"),
        Outgoing("no key"),
        Outgoing("late", delay=1, serial_key="a"),
        Outgoing("spaced", serial_key="a b"),
        Outgoing("long", serial_key="a" * 129),
        Outgoing("x" * (MAX_BYTES + 1), serial_key="a"),
        Outgoing("last", serial_key="a"),
        Outgoing("other", tenant="north", serial_key="a" * 128),
    ]
    answers = world.queues.send(ORDERS, messages)
    assert [type(answer) for answer in answers] == [
        type(None), OptionError, OptionError, OptionError, OptionError, TooLarge, type(None), type(None),
    ]  # fmt: skip
    assert by_key(drained(world)) == {"a": ["first", "last"], "a" * 128: ["other"]}


def test_a_queue_without_order_takes_no_key_and_tells_none(world: World) -> None:
    (refused, taken) = world.queues.send(COMMANDS, [Outgoing("keyed", serial_key="a"), Outgoing("tenant", tenant="north")])
    assert taken is None
    with pytest.raises(OptionError, match=r"does not keep order; use a queue whose name ends in \.fifo"):
        raise refused or AssertionError("it was taken")
    (delivery,) = world.queues.receive(COMMANDS)
    assert (delivery.body, delivery.serial_key) == ("tenant", None)
