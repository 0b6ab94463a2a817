"""Deferred messages alone: what is sent anew and with which memory, what is hidden instead, and for how long."""

from dataclasses import replace
from typing import Any

import pytest

from sedano import memory
from sedano.engine import deferrals
from sedano.engine.batch import Batch
from sedano.engine.deferrals import HELD, REASON_CHARACTERS
from sedano.engine.worker.redelivery_credit import Spared
from sedano.errors import Unavailable
from sedano.model.deferrals import FIRST_S, HIDDEN_MOST_S, HIDDEN_S, LONGER, WAITED, Waited, patience, waited, written
from sedano.model.messages import codec
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.message import Command, Document, Event
from sedano.model.order import KEPT_S
from sedano.model.queues import SQS, QueueBounds
from sedano.ports import Delivery, Outgoing, Ports
from tests.unit.engine.gated import QUEUE, Noted, advance, asked, batch, world

NO_DELAY = SQS._replace(max_delay=0)
COMMAND = Command("a", "a", "only", "host", 1.0, 1, tenant="acme")


def delivery(receives: int = 1, age: float = 0.0, before: Waited | None = None, **changes: Any) -> Delivery:
    """A message of this *age* (s) that was received so often."""
    attributes = {WAITED: written(before)} if before is not None else {}
    one = Delivery(QUEUE, "a", "receipt-a", codec.encode(COMMAND), receives, memory.START - age, attributes)
    return one._replace(**changes)


def settled(ports: Ports, found: Batch, spared: Spared | None = None) -> list[Outgoing]:
    """What was sent anew of *found*."""
    deferrals.settle(ports, LamportClock(lambda: 1), spared or Spared(), found)
    return [message for _, messages in asked(ports.queues, "send") for message in messages]


def away(ports: Ports, bounds: QueueBounds = SQS) -> Ports:
    """The ports with a queue that takes nothing."""

    class Away(memory.MemoryQueues):
        def send(self, queue: str, messages: Any) -> Any:
            raise Unavailable("sqs.SendMessageBatch: away")

    return replace(ports, queues=Noted(Away(ports.clock, [QUEUE], bounds=bounds)))


@pytest.mark.parametrize(("unit", "seconds"), [(0.0, 5), (0.5, 5), (0.75, 5), (0.9, 4)])
def test_a_first_wait_is_up_to_a_quarter_shorter_in_whole_seconds_and_the_message_stays_its_tenants(unit: float, seconds: int) -> None:
    ports = world(unit)
    found = batch(ports)
    found.defer(delivery())
    assert settled(ports, found) == [Outgoing(delivery().body, seconds, "acme", {WAITED: "1 0"})]
    assert found.given_back == []


def test_each_wait_is_twice_as_long_and_executions_are_remembered() -> None:
    ports = world(0.0)
    found = batch(ports)
    found.defer(delivery(3, before=Waited(2, 1)), ran=True)
    (sent,) = settled(ports, found)
    assert (sent.delay, sent.attributes) == (int(FIRST_S * 4), {WAITED: written(Waited(3, 4))}), "1 before, 2 of 3 receipts, 1 that ran"


def test_receipts_that_this_worker_gave_back_are_no_executions() -> None:
    ports, spared = world(0.0), Spared()
    spared.add([delivery()])
    found = batch(ports)
    found.defer(delivery(3))
    (sent,) = settled(ports, found, spared)
    assert waited(sent.attributes) == Waited(1, 1)


def test_a_message_that_was_decided_otherwise_meanwhile_is_not_sent_anew() -> None:
    ports = world(0.0)
    found = batch(ports)
    found.defer(delivery())
    found.given_back.clear()
    assert settled(ports, found) == []
    assert found.deferred == {}


def test_a_message_that_is_sent_again_stays_its_tenants_and_one_that_cannot_be_read_has_none() -> None:
    assert deferrals.tenant_of(codec.encode(COMMAND)) == "acme"
    assert deferrals.tenant_of(codec.encode(Event("e", "shop/sold", "host", 1.0, 1, {}, tenant="acme"))) == "acme"
    assert deferrals.tenant_of(codec.encode(Event("e", "shop/sold", "host", 1.0, 1, {}))) is None
    assert deferrals.tenant_of(codec.encode(Document("d", "a", "price", "host", 1.0, 1, value=1, tenant="acme"))) == "acme"
    assert deferrals.tenant_of("{") is None


@pytest.mark.parametrize(("receives", "age", "seconds"), [(1, 900.0, HIDDEN_S), (3, 900.0, LONGER * 900.0), (3, 1e9, HIDDEN_MOST_S)])
def test_what_the_queue_does_not_take_is_hidden_for_a_minute_and_then_for_five_times_its_age(
    receives: int, age: float, seconds: float
) -> None:
    ports = away(world(0.0))
    found = batch(ports)
    one = delivery(receives, age)
    found.defer(one)
    settled(ports, found)
    assert asked(ports.queues, "hold") == [(one, seconds)]
    assert found.given_back == [one]


def test_what_waits_for_longer_than_that_is_hidden_for_as_long_as_it_waits() -> None:
    ports = away(world(0.0))
    found = batch(ports)
    found.defer(delivery(), seconds=300.0)
    settled(ports, found)
    assert asked(ports.queues, "hold") == [(delivery(), 300.0)]


def test_a_message_that_keeps_its_place_is_hidden_twice_as_long_at_each_receipt() -> None:
    ports = world(0.5)
    for receives in (1, 2, 4, 400):
        found = batch(ports)
        found.defer(delivery(receives, serial_key="k"))
        assert settled(ports, found) == []
    assert [seconds for _, seconds in asked(ports.queues, "hold")] == [
        max(patience(receives - 1) * 0.875, 3.0 * receives) for receives in (1, 2, 4, 400)
    ]  # fmt: skip
    assert patience(399) < 3.0 * 400, "it is received fewer than 900 times in 13 days"


def test_a_message_that_keeps_its_place_in_a_queue_that_delays_nothing_is_hidden_as_in_any_other() -> None:
    ports = world(0.5)
    ports = replace(ports, queues=Noted(memory.MemoryQueues(ports.clock, [QUEUE], bounds=NO_DELAY)))
    found = batch(ports)
    found.defer(delivery(serial_key="k"))
    settled(ports, found)
    assert asked(ports.queues, "hold") == [(delivery(serial_key="k"), patience(0) * 0.875)]


def test_the_waits_of_a_message_are_counted_by_its_memory_and_its_own_attributes_go_along() -> None:
    ports, spared = world(0.0), Spared()
    spared.add([delivery()])
    spared.add([delivery()])
    found = batch(ports)
    one = delivery(1, before=Waited(2, 0))
    found.defer(one._replace(attributes={**one.attributes, "sedano-slot": "7", "AWSTraceHeader": "x"}))
    (sent,) = settled(ports, found, spared)
    assert (sent.delay, sent.attributes) == (int(FIRST_S * 4), {WAITED: written(Waited(3, 0)), "sedano-slot": "7"})


@pytest.mark.parametrize(("seconds", "delay"), [(-5.0, 0), (0.0, 0), (0.5, 1)])
def test_a_wait_that_is_over_is_none(seconds: float, delay: int) -> None:
    ports = world(0.0)
    found = batch(ports)
    found.defer(delivery(), seconds=seconds)
    assert [one.delay for one in settled(ports, found)] == [delay]


def test_a_message_that_waited_for_its_place_nearly_as_long_as_it_is_kept_is_set_aside() -> None:
    ports = world(0.0)
    found = batch(ports)
    old, other = delivery(age=KEPT_S + 1.0, serial_key="k"), delivery(message_id="b", serial_key="k")
    found.defer(old)
    found.defer(other)
    assert settled(ports, found) == []
    assert [(one.delivery, one.code, one.field) for one in found.parkings] == [(old, "stale", "sent")]
    assert found.given_back == [other]
    assert [one for one, _ in asked(ports.queues, "hold")] == [other]
    assert not deferrals.stale(ports, delivery(age=KEPT_S, serial_key="k"), found)


@pytest.mark.parametrize(("seconds", "days"), [(-10.0, 13), (10.0, 14)])
def test_what_is_set_aside_as_stale_says_how_long_it_waited(seconds: float, days: int) -> None:
    ports = world(0.0)
    found = batch(ports)
    assert deferrals.stale(ports, delivery(age=13.5 * 86_400.0 + seconds, serial_key="k"), found)
    detail = f"it waited for {days} days in a queue that keeps order; SQS forgets it after 14"
    assert [one.detail for one in found.parkings] == [detail]


@pytest.mark.parametrize(
    ("receives", "seconds", "hides"), [(1, None, True), (3, None, True), (4, None, False), (1, 0.0, False), (1, 7.0, True)]
)
def test_where_no_message_can_be_delayed_it_is_hidden_at_its_first_receipts_and_what_is_due_is_sent(
    receives: int, seconds: float | None, hides: bool
) -> None:
    ports = world(0.0)
    ports = replace(ports, queues=Noted(memory.MemoryQueues(ports.clock, [QUEUE], bounds=NO_DELAY)))
    found = batch(ports)
    found.defer(delivery(receives), seconds=seconds)
    sent = settled(ports, found)
    assert [one.attributes for one in sent] == ([] if hides else [{WAITED: written(Waited(receives, 0))}])
    assert asked(ports.queues, "hold") == ([(delivery(receives), seconds or HIDDEN_S)] if hides else [])


def test_only_a_wait_with_a_reason_is_reported_with_the_time_until_which_it_lasts() -> None:
    ports = world(0.0)
    advance(ports, 0.12345)
    found = batch(ports)
    found.defer(delivery(), command=COMMAND)
    found.defer(delivery(message_id="b", before=Waited(1, 0)), "not answered: " + "x" * REASON_CHARACTERS, COMMAND)
    settled(ports, found)
    (line,) = found.chronicle.lines
    assert (line["type"], line["uuid"], line["name"]) == (HELD, "a", "only")
    assert line["until"] == round(ports.clock.now() + 2 * FIRST_S, 3)
    assert len(line["reason"]) == REASON_CHARACTERS == 300
    assert (line["clock"], line["timestamp"]) == (1, ports.clock.now())
    telemetry: Any = ports.telemetry
    assert telemetry.counted("MessagesDeferred") == 1


def test_a_wait_of_a_message_that_was_not_read_is_counted_and_not_reported() -> None:
    ports = world(0.0)
    found = batch(ports)
    found.defer(delivery(), "not answered")
    settled(ports, found)
    telemetry: Any = ports.telemetry
    assert (telemetry.counted("MessagesDeferred"), found.chronicle.lines) == (1, [])


@pytest.mark.parametrize(("receives", "seconds"), [(1, FIRST_S), (2, 2 * FIRST_S), (30, HIDDEN_MOST_S)])
def test_a_function_that_sends_nothing_to_its_own_queue_hides_a_message_twice_as_long_at_each_receipt(
    receives: int, seconds: float
) -> None:
    ports = world(0.5)
    found = batch(ports)
    found.defer(delivery(receives))
    deferrals.hide(ports, found)
    assert asked(ports.queues, "hold") == [(delivery(receives), seconds * 0.875)]
    assert found.deferred == {}
