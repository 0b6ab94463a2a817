"""The router alone: what becomes of an event that cannot be routed, and how often it reports what it costs."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from sedano import memory
from sedano.engine.registry import Registry
from sedano.engine.router import Router
from sedano.errors import MessageRefused, SedanoError, TooLarge
from sedano.model import refusals
from sedano.model.history.run_rows import Host
from sedano.model.messages import codec
from sedano.model.messages.lineage import MAX_HOPS, Lineage
from sedano.model.messages.message import Event
from sedano.model.tasks.parameters import Parameters
from sedano.model.tasks.task_spec import TaskSpec
from sedano.ports import EVENTS, PARKED, RECORDS, Delivery, Outgoing, Ports
from tests.unit.engine.gated import QUEUE, advance, asked, world

SOLD = Event("e", "Sold", "host", 1.0)
BODY = codec.encode(SOLD)


def router(ports: Ports) -> Router:
    """A router to one task."""
    spec = TaskSpec("only", print, Parameters(lambda *_, **__: None))
    return Router(Registry(tasks={"only": spec}, subscriptions={"Sold": ["only"]}), ports, Host("host", 1))


def route(ports: Ports, *bodies: str, receives: int = 4) -> list[Delivery]:
    """The deliveries that are delivered again."""
    some = [Delivery(EVENTS, str(number), f"r{number}", body, receives) for number, body in enumerate(bodies)]
    return router(ports).route(some, ports.clock.now() + 10)


def routed(ports: Ports) -> int:
    """How many commands were sent."""
    return len(ports.queues.peek(QUEUE))


def parked(ports: Ports) -> list[tuple[str, str, str]]:
    """What was set aside: the message, the reason and the field."""
    return [(one.attributes["message_id"], one.attributes["reason"], one.attributes["field"]) for one in ports.queues.peek(PARKED)]


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        ("{", refusals.MALFORMED, "body"),
        (codec.encode(SOLD._replace(name="Lost")), refusals.UNKNOWN_EVENT, "subject"),
        (codec.encode(SOLD._replace(clock=10**17)), refusals.CLOCK_AHEAD, "clock"),
        (codec.encode(SOLD._replace(lineage=Lineage("r", "p", MAX_HOPS, 9))), refusals.HOPS, "hops"),
        (codec.encode(SOLD._replace(lineage=Lineage("r", "p", 1, 0))), refusals.BUDGET, "budget"),
    ],
)
def test_an_event_that_cannot_be_routed_is_set_aside_and_the_next_one_is_routed(body: str, code: str, field: str) -> None:
    ports = world()
    assert route(ports, body, BODY) == []
    assert (parked(ports), routed(ports)) == ([("0", code, field)], 1)


def test_a_command_in_the_queue_of_events_is_set_aside() -> None:
    ports = world()
    route(ports, BODY)
    (command,) = ports.queues.peek(QUEUE)
    route(ports, command.body)
    assert parked(ports) == [("0", refusals.SCHEMA, "type")]
    (one,) = ports.queues.peek(PARKED)
    assert one.attributes["detail"] == "the event queue takes events and documents, no commands"


def test_the_name_of_an_unknown_event_is_in_the_reason() -> None:
    ports = world()
    route(ports, codec.encode(SOLD._replace(name="Sodl")))
    (one,) = ports.queues.peek(PARKED)
    assert one.attributes["detail"].startswith("no event 'Sodl' in this deployment")


class Refusing(memory.MemoryQueues):
    """Queues that refuse commands with *error*."""

    error: SedanoError = TooLarge("message: too large")

    def send(self, queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
        """Refuse commands."""
        return [self.error] * len(messages) if queue == QUEUE else super().send(queue, messages)


def refusing(error: SedanoError) -> Ports:
    """Ports whose queue of commands refuses with *error*."""
    ports = world()
    queues: Any = ports.queues
    queues.port.__class__ = Refusing
    queues.port.error = error
    return ports


def test_an_event_whose_command_is_not_taken_is_delivered_again() -> None:
    ports = refusing(TooLarge("message: too large"))
    assert [one.message_id for one in route(ports, BODY)] == ["0"]
    assert [delivery.message_id for delivery, _ in asked(ports.queues, "hold")] == ["0"]
    assert parked(ports) == []


def test_an_event_whose_command_is_refused_for_itself_is_set_aside() -> None:
    ports = refusing(MessageRefused(refusals.UNEXPECTED, "engine/x.py:1", "a defect"))
    assert route(ports, BODY) == []
    assert parked(ports) == [("0", refusals.UNEXPECTED, "engine/x.py:1")]


class Broken(memory.MemoryBlobs):
    """Blobs that break."""

    def get(self, ref: Any) -> bytes:
        """Break."""
        raise RuntimeError("a defect")


def test_an_event_that_nobody_foresaw_is_set_aside_and_the_next_one_is_routed() -> None:
    ports = world()
    ref = ports.blobs.put(b"{}")
    ports = replace(ports, blobs=Broken())
    route(ports, codec.encode(SOLD._replace(data_ref=ref)), BODY)
    assert ([one[:2] for one in parked(ports)], routed(ports)) == ([("0", refusals.UNEXPECTED)], 1)


def test_costs_are_told_once_a_minute() -> None:
    ports = world()
    one = router(ports)
    told = []
    for seconds in (0.0, 59.5, 1.0, 59.5, 1.0):
        advance(ports, seconds)
        one.route([Delivery(EVENTS, "m", "r", BODY)], ports.clock.now() + 10)
        told.append(sum(json.loads(sent.body)["lines"][-1]["invocations"] for sent in ports.queues.peek(RECORDS)))
    assert told == [1, 1, 3, 3, 5]
