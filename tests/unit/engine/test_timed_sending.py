"""Delays beyond what a queue can hold back: what becomes a timer, what waits in steps, and what a worker does with an envelope."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from sedano import memory
from sedano.engine.publisher import sender
from sedano.engine.timers import MOST_AHEAD_S, Envelopes
from sedano.errors import SedanoError, Unavailable
from sedano.model import refusals
from sedano.model.messages import codec
from sedano.model.messages.message import Command, Event
from sedano.model.queues import SQS
from sedano.model.timers import Timer, opened, sealed, timer_name
from sedano.ports import Delivery, Outgoing, Ports
from sedano.ports.absent import Absent
from tests.unit.engine.gated import QUEUE, Noted, asked, batch, world

MOST = SQS.max_delay
DAY = 86_400.0
TOO_LARGE = Unavailable("too many at once")


def body(name: str = "a", **changes: Any) -> str:
    """The command of this id."""
    return codec.encode(Command(name, name, "only", "host", 1.0, 1)._replace(**changes))


def outgoing(name: str, delay: int) -> Outgoing:
    """A message that waits."""
    return Outgoing(body(name), delay, "acme")


def sent(ports: Ports) -> list[tuple[str, list[Outgoing]]]:
    """The calls of the queue."""
    return [(queue, [*messages]) for queue, messages in asked(ports.queues, "send")]


def send(ports: Ports, timers: Any, *messages: Outgoing) -> list[SedanoError | None]:
    """Send them, as the publisher does."""
    return sender.send(ports.queues, timers, ports.clock, QUEUE, messages)


def test_only_what_the_queue_cannot_hold_back_becomes_a_timer_and_each_answer_is_its_own_messages() -> None:
    ports = world(0.5, "timers")
    soon, later, last = outgoing("a", MOST), outgoing("b", MOST + 1), outgoing("c", 0)
    ports.queues.send = lambda queue, messages: [TOO_LARGE, None]  # type: ignore[method-assign]
    assert send(ports, ports.timers, soon, later, last) == [TOO_LARGE, None, None]
    ((timer,),) = asked(ports.timers, "set")
    assert timer == Timer("b", ports.clock.now() + MOST + 1, QUEUE, later.body, "acme")
    other = world(0.5, "timers")
    send(other, other.timers, soon, later, last)
    assert sent(other) == [(QUEUE, [soon, last])]


def test_where_all_are_timers_the_queue_is_not_called_and_one_that_cannot_be_set_is_answered_so() -> None:
    ports = world(0.5)

    class Away:
        def set(self, timer: Timer) -> bool:
            if timer.name == "b":
                raise Unavailable("scheduler: away")
            return True

    answers = send(ports, Away(), outgoing("a", MOST + 1), outgoing("b", MOST + 1))
    assert [str(answer) if answer else None for answer in answers] == [None, "scheduler: away"]
    assert sent(ports) == []


def test_without_timers_a_long_delay_waits_in_steps_in_an_envelope_and_a_short_one_does_not() -> None:
    ports = world(0.5)
    soon, later = outgoing("a", MOST), outgoing("b", MOST + 1)
    assert send(ports, Absent("timers"), soon, later) == [None, None]
    ((queue, (first, second)),) = sent(ports)
    assert (queue, first) == (QUEUE, soon)
    assert (second.delay, second.tenant) == (MOST, "acme")
    assert opened(second.body) == Timer("b", ports.clock.now() + MOST + 1, QUEUE, later.body, "acme")


def test_the_timer_of_a_later_attempt_has_a_name_of_its_own_and_an_event_has_its_id() -> None:
    ports = world(0.5, "timers")
    event = codec.encode(Event("e", "shop/sold", "host", 1.0, 1, {}))
    send(ports, ports.timers, Outgoing(body("a", attempt=2), MOST + 1), Outgoing(event, MOST + 1))
    assert [timer.name for (timer,) in asked(ports.timers, "set")] == [timer_name("a", 2), "e"]


def envelope(left: float, ports: Ports, **changes: Any) -> Delivery:
    """The message of a timer that is due in so many seconds."""
    timer = Timer("a", ports.clock.now() + left, QUEUE, body(), "acme")._replace(**changes)
    return Delivery(QUEUE, "m", "receipt", sealed(timer))


def sifted(ports: Ports, *deliveries: Delivery) -> tuple[list[Delivery], Any]:
    """What the gate lets through, and the batch."""
    found = batch(ports)
    return [*Envelopes(ports).sift(deliveries, found)], found


def test_a_timer_that_is_due_is_its_command_dated_at_its_moment() -> None:
    ports = world(0.5)
    plain = Delivery(QUEUE, "p", "receipt", body("p"))
    for left in (0.0, -5.0):
        one = envelope(left, ports)
        (through, other), found = sifted(ports, one, plain)
        assert other == plain
        assert through == one._replace(body=body(time=ports.clock.now() + left))
        assert not found.is_decided(one)


@pytest.mark.parametrize(("left", "delay"), [(0.25, 1), (2.0, 2), (MOST, MOST)])
def test_a_timer_that_is_early_sends_its_command_with_the_seconds_that_are_left(left: float, delay: int) -> None:
    ports = world(0.5)
    through, found = sifted(ports, envelope(left, ports))
    assert through == []
    assert found.given_back == []
    assert sent(ports) == [(QUEUE, [Outgoing(body(time=ports.clock.now() + left), delay, "acme")])]
    telemetry: Any = ports.telemetry
    assert telemetry.lines == [], "a message that was sent on brings no warning"


def test_a_timer_that_is_too_early_for_the_queue_goes_on_in_its_envelope() -> None:
    ports = world(0.5)
    one = envelope(MOST + 0.001, ports)
    sifted(ports, one)
    assert sent(ports) == [(QUEUE, [Outgoing(one.body, MOST, "acme")])]


@pytest.mark.parametrize("answer", ["refuses", "raises"])
def test_a_timer_whose_message_is_not_taken_is_delivered_again(answer: str) -> None:
    ports = world(0.5)

    def send(queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
        if answer == "raises":
            raise Unavailable("queue: away")
        return [Unavailable("queue: away")]

    ports.queues.send = send  # type: ignore[method-assign]
    one = envelope(2.0, ports)
    through, found = sifted(ports, one)
    assert (through, found.given_back) == ([], [one])
    telemetry: Any = ports.telemetry
    (line,) = [line for line in telemetry.lines if line.level == "warning"]
    assert line.message == "timer's message not sent on; it is delivered again"
    assert line.fields == {"message_id": "m", "error": "queue: away"}


def test_where_a_message_keeps_its_place_or_cannot_be_delayed_the_envelope_is_hidden_for_as_long() -> None:
    ports = world(0.5)
    in_order = envelope(2.5, ports)._replace(serial_key="k")
    bare = replace(ports, queues=Noted(memory.MemoryQueues(ports.clock, [QUEUE], bounds=SQS._replace(max_delay=0))))
    for here, one in ((ports, in_order), (bare, envelope(2.5, bare))):
        through, found = sifted(here, one)
        assert (through, found.given_back, sent(here)) == ([], [one], [])
        assert asked(here.queues, "hold") == [(one, 2.5)]


def test_an_envelope_that_no_timer_wrote_is_set_aside_with_the_field() -> None:
    ports = world(0.5)
    event = codec.encode(Event("e", "shop/sold", "host", 1.0, 1, {}))
    ahead = 367 * DAY
    assert ahead == MOST_AHEAD_S
    good = envelope(ahead, ports)
    for one, field, detail in (
        (envelope(ahead + 0.001, ports), "timer.at", "more than 367 days ahead; publish it later"),
        (envelope(1.0, ports, body=event), "timer.message", "a timer holds a command"),
    ):
        through, found = sifted(ports, one)
        assert through == []
        assert [tuple(parking) for parking in found.parkings] == [(one, refusals.SCHEMA, field, detail)]
    assert sifted(ports, good)[1].parkings == []


def test_an_unforeseen_error_costs_its_own_envelope_alone() -> None:
    ports = world(0.5)

    class Odd(memory.VirtualClock):
        def now(self) -> float:
            raise ZeroDivisionError

    one, plain = envelope(1.0, ports), Delivery(QUEUE, "p", "receipt", body("p"))
    found = batch(ports)
    assert [*Envelopes(replace(ports, clock=Odd(0.0))).sift([plain, one], found)] == [plain]
    assert [(parking.delivery, parking.code) for parking in found.parkings] == [(one, refusals.UNEXPECTED)]

