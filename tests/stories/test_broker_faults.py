"""Brokers: what the answer of one broker means for a message, for its caller, and for the circuit of that broker."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from sedano.errors import ConfigurationError, NotAllowed, NotCalled, SedanoError, Throttled, TooLarge, Unavailable, UnknownQueue
from sedano.ports import Outgoing
from sedano.ports.brokers import Broker, Brokers
from tests.stories.test_brokers import AWAY, MAIL, QUEUE, Faulty, Shop
from tests.unit.engine.test_publisher import Kept


def test_a_queue_of_the_home_alone_is_called_again_as_without_brokers() -> None:
    shop = Shop()
    own = Faulty(shop.home.inner, shop.clock)
    ordered = [Broker("home", shop.home), Broker(AWAY, shop.away, frozenset({MAIL}))]
    shop.app.attach(replace(shop.ports, queues=Brokers(ordered, shop.clock, shop.telemetry, own)))
    own.once = Unavailable("one moment")
    shop.task.delay(1)
    assert (len(own.calls), shop.home.calls, shop.away.calls) == (2, [], [])
    assert shop.telemetry.messages("warning") == []
    shop.work()
    assert shop.ran == [1]


def test_while_all_brokers_fail_once_the_last_one_is_called_again() -> None:
    shop = Shop()
    shop.home.once, shop.away.once = Unavailable("one moment"), Unavailable("one moment")
    shop.task.delay(1)
    assert (len(shop.home.calls), len(shop.away.calls)) == (1, 2)
    assert shop.depths() == (0, 1)


def test_a_throttled_send_goes_to_the_next_broker_and_opens_no_circuit() -> None:
    shop = Shop()
    shop.home.once = Throttled("too many calls")
    for number in range(3):
        shop.task.delay(number)
    assert shop.depths() == (2, 1)
    assert shop.telemetry.messages("warning") == []


@pytest.mark.parametrize("fault", [ConfigurationError("the queue does not exist"), NotAllowed("denied", "sqs:SendMessage")])
def test_a_preferred_broker_of_another_region_that_cannot_be_used_leaves_the_messages_to_the_home(fault: SedanoError) -> None:
    kept = Kept()
    shop = Shop(backlog=kept)
    ordered = [Broker(AWAY, shop.away), Broker("home", shop.home)]
    shop.app.attach(replace(shop.ports, queues=Brokers(ordered, shop.clock, shop.telemetry)), backlog=kept)
    shop.away.fault = fault
    for number in range(3):
        shop.task.delay(number)
    assert shop.depths() == (3, 0)
    assert kept == []
    assert shop.telemetry.messages("error") == ["a broker cannot be used"]
    shop.home.fault = Unavailable("down")
    shop.task.delay(3)
    assert len(kept) == 1
    shop.home.fault = NotAllowed("denied at home", "sqs:SendMessage")
    with pytest.raises(NotAllowed, match="denied at home"):
        shop.task.delay(4)


def test_a_broker_that_cannot_be_used_does_not_hide_that_another_one_was_not_called() -> None:
    shop = Shop()
    spare = Faulty(shop.away.inner, shop.clock)
    ordered = [Broker(AWAY, shop.away), Broker("home", shop.home), Broker("spare", spare)]
    brokers = Brokers(ordered, shop.clock, shop.telemetry)
    shop.away.fault = spare.fault = ConfigurationError("the queue does not exist")
    shop.home.fault = Unavailable("down")
    assert [str(brokers.send(QUEUE, [Outgoing("{}")])[0])[:15] for _ in range(2)] == ["down", "the broker home"]
    away_only = Brokers([Broker(AWAY, shop.away, frozenset({QUEUE})), Broker("home", shop.home, frozenset())], shop.clock, shop.telemetry)
    assert away_only.send(QUEUE, [Outgoing("{}")]) == [shop.away.fault]


@pytest.mark.parametrize(
    ("messages", "answer"),
    [
        ([], None), ([Outgoing("x" * 2_000_000)], None), ([Outgoing("{}")], NotCalled("not called")),
        ([Outgoing("{}")], Throttled("too many calls")), ([Outgoing("{}")], NotAllowed("denied", "sqs:SendMessage")),
    ],
)  # fmt: skip
def test_a_send_that_shows_nothing_about_a_broker_leaves_its_circuit_open(messages: list[Outgoing], answer: SedanoError | None) -> None:
    shop = Shop()
    shop.home.once = Unavailable("down")
    shop.task.delay(0)
    shop.clock.advance(1.0)
    shop.home.once = answer
    shop.brokers.send(QUEUE, messages)
    assert shop.telemetry.messages("info") == []
    shop.task.delay(1)
    assert shop.telemetry.messages("info") == ["a broker accepts messages again"]
    assert shop.depths()[0] == 1


def test_a_message_that_fits_nowhere_does_not_hide_that_a_broker_is_away() -> None:
    shop = Shop()

    class Careful(Faulty):
        def send(self, queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
            answers = super().send(queue, messages)
            return [TooLarge("large") if one.body == "large" else answer for one, answer in zip(messages, answers, strict=True)]

    careful = Careful(shop.home.inner, shop.clock)
    careful.fault = Unavailable("down")
    brokers = Brokers([Broker("home", careful), Broker(AWAY, shop.away)], shop.clock, shop.telemetry)
    for _ in range(2):
        assert brokers.send(QUEUE, [Outgoing("large"), Outgoing("{}")])[1] is None
    assert len(careful.calls) == 1
    assert shop.telemetry.messages("warning") == ["a broker accepts nothing: its circuit is open"]


def test_without_messages_an_unknown_queue_is_still_reported() -> None:
    shop = Shop()
    assert shop.brokers.send(QUEUE, ()) == []
    with pytest.raises(UnknownQueue):
        shop.brokers.send("commands:none", ())
