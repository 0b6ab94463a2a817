"""What a worker gave back on purpose is not held against a message."""

from sedano.engine.worker.redelivery_credit import MOST, Spared
from sedano.ports import Delivery


def delivery(name: str) -> Delivery:
    """A delivery of the message *name*."""
    return Delivery("commands:default", name, "receipt", "{}")


def test_each_giving_back_counts_once() -> None:
    spared = Spared()
    spared.add([delivery("a"), delivery("a"), delivery("b")])
    spared.add([delivery("a")])
    assert [spared.count(delivery(name)) for name in "abc"] == [2, 1, 0]


def test_what_was_given_back_least_recently_is_forgotten_first() -> None:
    spared = Spared()
    spared.add([delivery("old")])
    spared.add([delivery("busy")])
    for n in range(MOST - 1):
        spared.add([delivery(f"m{n}")])
        spared.add([delivery("busy")])
    assert spared.count(delivery("old")) == 0
    assert spared.count(delivery("busy")) == MOST


def test_a_thousand_messages_are_remembered_and_not_one_more() -> None:
    spared = Spared()
    spared.add([delivery(f"m{n}") for n in range(1_000)])
    assert {spared.count(delivery(f"m{n}")) for n in range(1_000)} == {1}
    spared.add([delivery("one more")])
    assert sum(spared.count(delivery(f"m{n}")) for n in range(1_000)) == 999
    assert spared.count(delivery("one more")) == 1
    assert MOST == 1_000
